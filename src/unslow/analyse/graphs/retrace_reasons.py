"""Which argument the traces of a function are due to, and whether that is more than a sound program needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from unslow.analyse.graphs.traces import Change, Trace, in_training, nearest
from unslow.model import Location, Run

# So many traces may be blamed on one argument before it is a fault: two modes, a last partial batch, the same
# again for the validation data. A changing float is a fault sooner, since no structure depends on it.
_ALLOWED = {"number": 2, "object": 2, "variable": 2}
_ALLOWED_FLOAT = 1
_ALLOWED_ELSE = 3
_HANDFUL = 8  # graphs for as many shapes, all made early, that a program may go on with: buckets of lengths
_EARLY = 1 / 3  # of the steps


@dataclass(frozen=True)
class Blamed:
    """Traces that one argument is to blame for."""

    argument: str
    reason: str  # as of a Change, or "pipeline" where no argument changed but the function itself is new
    change: Change
    found: Sequence[Trace]  # all traces of the function
    traces: Sequence[Trace]  # those that are due to the argument

    @property
    def count(self) -> int:
        return round(sum(trace.weight for trace in self.traces))


def blamed(run: Run, found: Iterable[Trace]) -> Iterable[Blamed]:
    """Every function that was traced more often than it should be, with what is to blame."""
    functions: dict[int, list[Trace]] = defaultdict(list)
    methods: dict[tuple[Location, str], list[Trace]] = defaultdict(list)
    pipelines: dict[tuple[Location | None, str], list[Trace]] = defaultdict(list)
    for trace in found:
        if trace.way == "method":
            methods[trace.place, trace.weights].append(trace)
        if trace.way == "data":
            pipelines[trace.caller, trace.name].append(trace)
        elif trace.function:
            functions[trace.function].append(trace)
    for traces in functions.values():
        answer = _argument(run, traces)
        if answer is not None:
            yield answer
    for traces in methods.values():
        yield from _made_anew(
            run, traces, Change("self", "self", "object", "one object", "another")
        )
    for traces in pipelines.values():
        yield from _made_anew(run, traces, Change("", "", "pipeline", "", ""))


def _argument(run: Run, found: Sequence[Trace]) -> Blamed | None:
    """The argument that most of the traces of a function are due to."""
    groups: dict[tuple[str, str], list[tuple[Trace, Change]]] = defaultdict(list)
    for index, trace in enumerate(found[1:], start=1):
        for change in nearest(trace, found[:index]) if in_training(run, trace) else ():
            groups[change.argument, change.reason].append((trace, change))
    for (argument, reason), members in sorted(groups.items(), key=lambda group: -len(group[1])):
        change = members[0][1]
        floats = reason == "number" and "float" in (
            change.old.partition(" ")[0],
            change.new.partition(" ")[0],
        )
        allowed = _ALLOWED_FLOAT if floats else _ALLOWED.get(reason, _ALLOWED_ELSE)
        settled = reason == "shape" and _settled(run, [trace for trace, _ in members])
        if len(members) > allowed and not settled:
            return Blamed(argument, reason, change, found, [trace for trace, _ in members])
    return None


def _settled(run: Run, found: Sequence[Trace]) -> bool:
    """Whether these are a handful of graphs, all made early, which the program then goes on with."""
    last = max(trace.time for trace in found)
    before = sum(int(loop.count[loop.end <= last].sum()) for loop in run.loops)
    return sum(trace.weight for trace in found) < _HANDFUL and before <= _EARLY * sum(
        loop.steps for loop in run.loops
    )


def _made_anew(run: Run, found: Sequence[Trace], change: Change) -> Iterable[Blamed]:
    """Functions of one code that were each traced because each was new."""
    first = found[0].function
    bad = [trace for trace in found if trace.function != first and in_training(run, trace)]
    if len({trace.function for trace in bad}) >= _ALLOWED_ELSE:
        yield Blamed(change.argument, change.reason, change, found, bad)
