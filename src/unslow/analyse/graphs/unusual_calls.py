"""Calls of compiled functions that were not like the others, read back from a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unslow.analyse.run.thinned import weighed
from unslow.model import Event, Location, Run


@dataclass(frozen=True)
class Inside:
    """One call as a short profiler window saw it, in seconds."""

    call: float
    prepare: float  # the graph is optimised and loaded
    compile: float  # XLA
    data: float
    run: float


@dataclass(frozen=True)
class Call:
    """A first call, one after a reset, one with new shapes, or one that was just long."""

    time: float
    process: int
    function: int
    name: str
    why: frozenset[str]  # first, traced, reset, shapes, long
    seconds: float
    traced: float  # of it, tracing
    usual: float  # what calls of this function take when nothing happens; 0 where none was seen yet
    number: int
    jit: bool
    shapes: tuple[tuple[int, ...], ...]
    distinct: int
    caller: Location | None
    reset: Location | None
    way: str
    inside: Inside | None
    weight: float  # calls that this one stands for, where many were thinned out

    @property
    def untraced(self) -> float:
        return self.seconds - self.traced


def special_calls(run: Run) -> list[Call]:
    return [
        _call(event, weight)
        for event, weight in weighed(event for event in run.of("call") if "why" in event.data)
    ]


def _call(event: Event, weight: float) -> Call:
    data = event.data
    parts = [float(data.get(name) or 0.0) for name in ("call", "prepare", "compile", "data", "run")]
    return Call(
        time=event.time,
        process=event.process,
        function=int(data.get("function") or 0),
        name=str(data.get("name", "")),
        why=frozenset(data["why"]),
        seconds=float(data.get("took") or 0.0),
        traced=float(data.get("traced") or 0.0),
        usual=float(data.get("usual") or 0.0),
        number=int(data.get("number") or 0),
        jit=bool(data.get("jit")),
        shapes=tuple(tuple(shape) for shape in data.get("shapes") or ()),
        distinct=int(data.get("distinct") or 0),
        caller=first_place(data.get("stack")),
        reset=_place(data.get("place")),
        way=str(data.get("way") or ""),
        inside=Inside(*parts) if parts[0] else None,
        weight=weight,
    )


def first_place(stack: Sequence[Any] | None) -> Location | None:
    """The user's innermost line of a stack."""
    return _place(stack[0]) if stack else None


def _place(place: Sequence[Any] | None) -> Location | None:
    return Location(str(place[0]), int(place[1]), str(place[2])) if place else None


def in_training(run: Run, call: Call) -> bool:
    """Whether a call belongs to a training loop: a loop's own first step counts, what comes before does not."""
    return any(
        loop.process == call.process and loop.start <= call.time <= loop.stop + 1e-6
        for loop in run.loops
    )
