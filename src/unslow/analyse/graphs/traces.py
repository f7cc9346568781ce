"""Traces of functions read back from a run: what each was called with, what changed, and what it cost."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unslow.analyse.run.thinned import weighed
from unslow.model import Event, Location, Run

# A graph that was never run twice gives no usual call to compare with. Preparing a graph was seen to take
# 0.4 to 1.1 times as long as tracing it, so no more than this is claimed.
_PREPARING = 1.0
_FEW_CALLS = 3  # calls without a trace below which their mean says little


@dataclass(frozen=True)
class Trace:
    """One outermost trace, and the call around it where there was one."""

    time: float
    function: int  # number of the tf.function object
    way: str  # who made that object: direct, method, keras, data, library
    name: str
    place: Location
    made: Location | None
    caller: Location | None
    arguments: Mapping[str, str]
    nodes: int
    updates: bool
    jit: bool
    relaxed: bool
    weights: str  # which variables its graph works on
    seconds: float
    call: (
        float  # seconds of the whole call, the trace included; equal to `seconds` where only traced
    )
    prepared: (
        float  # of the rest of the call, what TensorFlow's own profiler saw before the first kernel
    )
    weight: float  # traces that this one stands for, where many were thinned out


def traces(run: Run) -> list[Trace]:
    """Every outermost trace that was written, in time order, with its call."""
    facts = [
        event for event in run.of("trace") if event.data.get("depth") == 0 and "args" in event.data
    ]
    calls, looks = _by_function(run, "first_run"), _by_function(run, "call")
    found = []
    for event, weight in weighed(facts):
        data = event.data
        key = (event.process, int(data.get("function") or 0))
        call, look = _around(event, calls.get(key, ())), _around(event, looks.get(key, ()))
        found.append(
            Trace(
                time=event.time,
                function=key[1],
                way=str(data.get("way") or ""),
                name=str(data["name"]),
                place=_location(data["place"]),
                made=_first(data.get("made")),
                caller=_first(data.get("stack")),
                arguments=data["args"],
                nodes=int(data.get("nodes") or 0),
                updates=bool(data.get("updates")),
                jit=bool(data.get("jit")),
                relaxed=bool(data.get("relaxed")),
                weights=str(data.get("weights") or ""),
                seconds=float(data["took"]),
                call=max(float(data["took"]), float(call.get("took", 0.0))),
                prepared=float(look.get("prepare") or 0.0),
                weight=weight,
            )
        )
    return found


def _by_function(run: Run, kind: str) -> dict[tuple[int, int], list[Event]]:
    """Facts about calls that traced, by the function that was called."""
    calls: dict[tuple[int, int], list[Event]] = defaultdict(list)
    for event in run.of(kind):
        if event.data.get("function") and event.data.get("traced"):
            calls[event.process, int(event.data["function"])].append(event)
    return calls


def _around(trace: Event, calls: Sequence[Event]) -> Mapping[str, Any]:
    """The call that a trace was part of: the next to end, if it traced as long as that."""
    call = next((call for call in calls if call.time >= trace.time), None)
    if call is None or float(call.data["traced"]) < 0.99 * float(trace.data["took"]):
        return {}
    return call.data


def _location(place: Sequence[Any]) -> Location:
    return Location(str(place[0]), int(place[1]), str(place[2]))


def _first(stack: Sequence[Any] | None) -> Location | None:
    return _location(stack[0]) if stack else None


def in_training(run: Run, trace: Trace) -> bool:
    return any(loop.start <= trace.time <= loop.stop for loop in run.loops)


def quiet_calls(run: Run, function: int) -> tuple[int, float]:
    """Calls of a function that traced nothing, and their seconds, as far as they were written."""
    return max(
        (
            (int(event.data.get("calls") or 0), float(event.data.get("calls_took") or 0.0))
            for event in run.of("first_run", "function")
            if event.data.get("function") == function
        ),
        default=(0, 0.0),
    )


def usual_call(run: Run, function: int) -> float | None:
    """Mean seconds of a function's calls that traced nothing; None where there were too few."""
    calls, seconds = quiet_calls(run, function)
    return seconds / calls if calls >= _FEW_CALLS else None


def cost(trace: Trace, usual: float | None) -> float:
    """What one call that traced took beyond a usual one: the trace, and the graph's preparation at its first run."""
    if usual is not None:
        return max(trace.seconds, trace.call - usual)
    rest = trace.call - trace.seconds
    return trace.seconds + (
        rest if trace.jit else max(trace.prepared, min(rest, _PREPARING * trace.seconds))
    )


# What changed between two traces


@dataclass(frozen=True)
class Change:
    """An argument that differs between two traces, told by its outermost name."""

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
    for leaf in [*new, *(leaf for leaf in old if leaf not in new)]:
        one, other = old.get(leaf, ""), new.get(leaf, "")
        argument = re.split(r"[\[.]", leaf, maxsplit=1)[0]
        if one != other and argument not in found:
            found[argument] = Change(argument, leaf, _reason(one, other), one, other)
    return list(found.values())


def _reason(old: str, new: str) -> str:
    kinds = {old.partition(" ")[0], new.partition(" ")[0]}
    if "NoneType" in kinds:
        return "none"
    if kinds <= {"int", "float", "complex"}:
        return "number"
    for kind, reason in (
        ("bool", "flag"),
        ("str", "string"),
        ("object", "object"),
        ("variable", "variable"),
    ):
        if kinds == {kind}:
            return reason
    if kinds <= {"list", "tuple", "dict", "namedtuple", "attrs"}:
        return "length"
    one, other = _TENSOR.match(old), _TENSOR.match(new)
    if one is None or other is None:
        return "shape" if _SHAPE.sub("", old) == _SHAPE.sub("", new) else "type"
    if one[1] != other[1]:
        return "dtype"
    return (
        "shape"
        if one[2].count(",") == other[2].count(",") and bool(one[2]) == bool(other[2])
        else "rank"
    )


def nearest(trace: Trace, earlier: Sequence[Trace]) -> list[Change]:
    """What changed against the earlier trace that differs in the fewest arguments, the latest of them first."""
    return min(
        (changes(other.arguments, trace.arguments) for other in reversed(earlier)),
        key=len,
        default=[],
    )
