"""Traces of functions: what each was called with, what changed, and what it cost."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from unslow.analyse.grouping import grouped
from unslow.analyse.places import innermost
from unslow.analyse.run.thinned import weighted
from unslow.facts.functions import FirstRun, FunctionTotals, Trace, UnusualCall
from unslow.facts.schema import Fact
from unslow.model import Location, Run

READS = (Trace, FirstRun, FunctionTotals, UnusualCall)  # the facts that this module reads

# A graph that was never run twice gives no usual call to compare with. Preparing a graph was seen
# to take 0.4 to 1.1 times as long as tracing it, so no more than this is claimed.
_PREPARING = 1.0
_FEW_CALLS = 3  # calls without a trace: the mean of fewer says little


TracedCall = FirstRun | UnusualCall


@dataclass(frozen=True)
class OutermostTrace:
    """One outermost trace, and the call around it where there was one."""

    fact: Trace
    call: float  # seconds of the whole call, the trace included; of the trace if there was no call
    prepared: float  # of the rest of the call, what a profiler window saw before the first kernel
    weight: int  # traces that this one stands for, where many were thinned out

    @property
    def seconds(self) -> float:
        return self.fact.took

    @property
    def place(self) -> Location:
        return Location(*self.fact.place)

    @property
    def made(self) -> Location | None:
        return innermost(self.fact.made)

    @property
    def caller(self) -> Location | None:
        return innermost(self.fact.stack)


def traces(run: Run) -> list[OutermostTrace]:
    """Every outermost trace that was written, in time order, with its call."""
    outermost = [trace for trace in run.facts(Trace) if trace.depth == 0]
    first_runs, calls = _by_function(run.facts(FirstRun)), _by_function(run.facts(UnusualCall))
    same_function = grouped(outermost, _function)
    found = []
    for trace, weight in weighted(outermost):
        key = _function(trace)
        first_run = _around(trace, first_runs.get(key, ()))
        own = _own_part(first_run, trace, same_function[key])
        prepared = _prepared(_around(trace, calls.get(key, ())))
        found.append(OutermostTrace(trace, max(trace.took, own), prepared, weight))
    return found


def _prepared(call: TracedCall | None) -> float:
    """Seconds before the first kernel, where a profiler window saw a call."""
    profile = call.profile if isinstance(call, UnusualCall) else None
    return profile.prepare if profile is not None else 0.0


def _own_part(call: TracedCall | None, trace: Trace, of_function: Sequence[Trace]) -> float:
    """What of a call belongs to a trace in it; without a call, the trace itself.

    A function that makes variables is traced twice in its first call: the last trace gets the
    call, without the other one.
    """
    if call is None:
        return trace.took
    first = bisect_left(of_function, call.time - call.took, key=_time)
    last = bisect_right(of_function, call.time, key=_time) - 1
    if of_function[last] is not trace:
        return trace.took
    return call.took - sum(each.took for each in of_function[first:last])


def _by_function(calls: Iterable[TracedCall]) -> dict[tuple[int, int], list[TracedCall]]:
    """Calls that traced, by the function that was called."""
    return grouped((call for call in calls if call.function and call.traced), _function)


def _function(seen: Trace | TracedCall) -> tuple[int, int]:
    return seen.process, seen.function


def _around(trace: Trace, calls: Sequence[TracedCall]) -> TracedCall | None:
    """The call that a trace was part of: the next to end, if it traced as long as that."""
    at = bisect_left(calls, trace.time, key=_time)
    if at == len(calls) or calls[at].traced < 0.99 * trace.took:
        return None
    return calls[at]


def _time(fact: Fact) -> float:
    return fact.time


def usual_calls(run: Run, function: int) -> tuple[int, float]:
    """Calls of a function that traced nothing, and their seconds, as far as they were written."""
    totals: list[FirstRun | FunctionTotals] = [*run.facts(FirstRun), *run.facts(FunctionTotals)]
    known = [(seen.calls, seen.calls_took) for seen in totals if seen.function == function]
    return max(known, default=(0, 0.0))


def usual_call(run: Run, function: int) -> float | None:
    """Mean seconds of a function's calls that traced nothing; None if there were too few."""
    calls, seconds = usual_calls(run, function)
    return seconds / calls if calls >= _FEW_CALLS else None


def cost(trace: OutermostTrace, usual: float | None) -> float:
    """What one call that traced took beyond a usual one: the trace, and the graph's preparation."""
    if usual is not None:
        return max(trace.seconds, trace.call - usual)
    rest = trace.call - trace.seconds
    if trace.fact.jit:
        return trace.seconds + rest
    return trace.seconds + max(trace.prepared, min(rest, _PREPARING * trace.seconds))


# What changed between two traces


@dataclass(frozen=True)
class Change:
    """An argument that differs between two traces."""

    argument: str
    leaf: str
    reason: str  # number, string, flag, none, dtype, rank, shape, object, variable, length, type
    old: str
    new: str


_TENSOR = re.compile(r"(\w+)\[(.*)\]$")
_SHAPE = re.compile(r"[(\[](?:\d+|None|, ?)*[)\]]")  # as specs of other types show it


def changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[Change]:
    """Each argument that changed, by its first leaf that did."""
    found: dict[str, Change] = {}
    for leaf in {**new, **old}:
        one, other = old.get(leaf, ""), new.get(leaf, "")
        argument = re.split(r"[\[.]", leaf, maxsplit=1)[0]
        if one != other and argument not in found:
            found[argument] = Change(argument, leaf, _reason(one, other), one, other)
    return list(found.values())


# By the kinds of both values.
_REASONS = (
    ({"int", "float", "complex"}, "number"),
    ({"bool"}, "flag"),
    ({"str"}, "string"),
    ({"object"}, "object"),
    ({"variable"}, "variable"),
    ({"list", "tuple", "dict", "namedtuple", "attrs"}, "length"),
)


def _reason(old: str, new: str) -> str:
    kinds = {old.partition(" ")[0], new.partition(" ")[0]}
    if "NoneType" in kinds:
        return "none"
    plain = (reason for group, reason in _REASONS if kinds <= group)
    return next(plain, "") or _tensor_reason(old, new)


def _tensor_reason(old: str, new: str) -> str:
    one, other = _TENSOR.match(old), _TENSOR.match(new)
    if one is None or other is None:
        return "shape" if _SHAPE.sub("", old) == _SHAPE.sub("", new) else "type"
    if one[1] != other[1]:
        return "dtype"
    return "shape" if _rank(one[2]) == _rank(other[2]) else "rank"


def _rank(shape: str) -> int:
    return shape.count(",") + 1 if shape else 0


# Earlier traces that a trace is compared with: a function that is traced more often than that
# changes the same arguments each time.
_COMPARED = 200


def nearest_changes(
    found: Sequence[OutermostTrace],
) -> Iterator[tuple[OutermostTrace, list[Change]]]:
    """Each trace but the first, with what changed since the earlier one that is most like it.

    That is the one that differs in the fewest arguments, and of these the latest.
    """
    seen: set[frozenset[tuple[str, str]]] = set()
    for index, trace in enumerate(found):
        arguments = frozenset(trace.fact.args.items())
        if index:
            yield trace, [] if arguments in seen else _nearest(trace, found, index)
        seen.add(arguments)


def _nearest(trace: OutermostTrace, found: Sequence[OutermostTrace], index: int) -> list[Change]:
    best: list[Change] = []
    for other in reversed(found[max(0, index - _COMPARED) : index]):
        changed = changes(other.fact.args, trace.fact.args)
        if len(changed) == 1:
            return changed
        if not best or len(changed) < len(best):
            best = changed
    return best
