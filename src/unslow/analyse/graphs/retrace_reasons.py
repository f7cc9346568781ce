"""Which argument the traces of a function are due to, and whether they are too many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from unslow.analyse.graphs.traces import Change, OutermostTrace, nearest_changes
from unslow.analyse.grouping import grouped
from unslow.model import Run

# This many traces may be due to one argument before it is a problem: two modes, a last partial
# batch, the same again for the validation data. A changing float is a problem sooner, since no
# structure depends on it.
_ALLOWED = {"number": 2, "object": 2, "variable": 2}
_ALLOWED_FLOAT = 1
_ALLOWED_ELSE = 3
_STRUCTURE = ("string", "flag", "none")  # what decides which graph is made
_HANDFUL = 8  # graphs for as many shapes, all made early: buckets of lengths
_EARLY = 1 / 3  # of the steps
# Where TensorFlow makes functions for an iterator over several devices, as under tf.distribute: a
# new one in each epoch (seen on 2.15 to 2.21).
_OVER_DEVICES = "multi_device_iterator_ops.py"
_ANOTHER_OBJECT = Change("self", "self", "object", "one object", "another")
_ANOTHER_PIPELINE = Change("", "", "pipeline", "", "")


@dataclass(frozen=True)
class Blamed:
    """Traces that one argument is to blame for."""

    argument: str
    reason: str  # as of a Change, or "pipeline" where the function itself is new
    change: Change
    found: Sequence[OutermostTrace]  # all traces of the function
    traces: Sequence[OutermostTrace]  # those that are due to the argument

    @property
    def count(self) -> int:
        return round(sum(trace.weight for trace in self.traces))


def blamed(run: Run, found: Iterable[OutermostTrace]) -> Iterable[Blamed]:
    """Every function that was traced more often than it should be, with what is to blame."""
    found = list(found)
    called = [trace for trace in found if trace.fact.way != "data" and trace.fact.function]
    for traces in grouped(called, lambda trace: trace.fact.function).values():
        yield from islice(_arguments(run, traces), 1)
    methods = [trace for trace in found if trace.fact.way == "method"]
    for traces in grouped(methods, lambda trace: (trace.place, trace.fact.weights)).values():
        yield from _recreated(run, traces, _ANOTHER_OBJECT)
    mapped = [trace for trace in found if trace.fact.way == "data" and not _of_iterator(trace)]
    for traces in grouped(mapped, lambda trace: (trace.caller, trace.fact.name)).values():
        yield from _recreated(run, traces, _ANOTHER_PIPELINE)


def _of_iterator(trace: OutermostTrace) -> bool:
    """Whether TensorFlow makes the function for each iterator, of the same pipeline too."""
    return trace.place.file.endswith(_OVER_DEVICES)


def _arguments(run: Run, found: Sequence[OutermostTrace]) -> Iterator[Blamed]:
    """The arguments that traces of a function are due to, the one of most traces first."""
    changes = []
    for trace, changed in nearest_changes(found):
        if run.in_training(trace.fact):
            changes += [(trace, change) for change in _decisive(changed)]
    groups = grouped(changes, lambda pair: (pair[1].argument, pair[1].reason))
    for members in sorted(groups.values(), key=len, reverse=True):
        due, reasons = zip(*members, strict=True)
        change = reasons[0]
        is_settled = change.reason == "shape" and _settled(run, due)
        if len(members) > _allowed(change) and not is_settled:
            yield Blamed(change.argument, change.reason, change, found, due)


def _decisive(changed: Sequence[Change]) -> Sequence[Change]:
    """Numbers that change along with the structure would not spare a trace as tensors."""
    return [change for change in changed if change.reason in _STRUCTURE] or changed


def _allowed(change: Change) -> int:
    if change.reason == "number" and "float " in f"{change.old}, {change.new}":
        return _ALLOWED_FLOAT
    return _ALLOWED.get(change.reason, _ALLOWED_ELSE)


def _settled(run: Run, found: Sequence[OutermostTrace]) -> bool:
    """Whether these are a handful of graphs, all traced early in the run."""
    last = max(trace.fact.time for trace in found)
    before = sum(int(loop.count[loop.end <= last].sum()) for loop in run.loops)
    early = before <= _EARLY * run.steps
    return early and sum(trace.weight for trace in found) < _HANDFUL


def _recreated(run: Run, found: Sequence[OutermostTrace], change: Change) -> Iterable[Blamed]:
    """Functions of one code that were each traced because each was new."""
    first = found[0].fact.function
    bad = [trace for trace in found if trace.fact.function != first and run.in_training(trace.fact)]
    if len({trace.fact.function for trace in bad}) >= _ALLOWED_ELSE:
        yield Blamed(change.argument, change.reason, change, found, bad)
