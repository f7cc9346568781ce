"""What the process gained while one of the user's lines was inside TensorFlow, outside of steps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from unslow.facts.memory import Inventory, MemoryHigh, ModelCall, Unnamed
from unslow.facts.phase import Phase
from unslow.facts.schema import Place
from unslow.model import Run

_TENSORFLOW = frozenset(("tensorflow", "keras", "tf_keras"))
_COMPUTES = frozenset((int(Phase.OTHER), int(Phase.RUN)))  # single ops, whole functions


@dataclass(frozen=True)
class CallGrowth:
    """New highs of memory in a row, all while one line was inside TensorFlow."""

    place: Place
    first: float  # the time of the first high
    last: float
    bytes: float  # gained since the high before them
    level: float  # of the last one
    ops: frozenset[str]  # the eager ops that were under way
    call: ModelCall | None  # the model that the line called
    unnamed: Unnamed | None  # the most that intermediate results were seen to hold


def call_growth(run: Run, process: int, start: float) -> Iterator[CallGrowth]:
    """`start`: bytes of the process when TensorFlow had been imported."""
    highs = run.facts(MemoryHigh, process)
    taken = run.facts(Inventory, process)
    calls = {each.call.stack[0]: each.call for each in taken if each.call and each.call.stack}
    below = start
    for place, group in itertools.groupby(highs, lambda high: _place_in_tensorflow(high, calls)):
        found = list(group)
        level = found[-1].bytes
        if place is not None:
            yield CallGrowth(
                place=place,
                first=found[0].time,
                last=found[-1].time,
                bytes=max(0.0, level - below),
                level=level,
                ops=frozenset(high.op for high in found),
                call=calls.get(place),
                unnamed=_unnamed(taken, place),
            )
        below = level


def _place_in_tensorflow(high: MemoryHigh, calls: Mapping[Place, ModelCall]) -> Place | None:
    """The line that called the model or the op; None where memory grew elsewhere."""
    if high.leaf not in _TENSORFLOW or high.phase not in _COMPUTES or not high.stack:
        return None
    return next((place for place in high.stack if place in calls), high.stack[0])


def _unnamed(taken: Sequence[Inventory], place: Place) -> Unnamed | None:
    seen = [each.unnamed for each in taken if place in each.stack and each.unnamed is not None]
    return max(seen, key=lambda each: each.bytes, default=None)
