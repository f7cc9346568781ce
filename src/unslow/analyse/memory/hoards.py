"""Containers of the user's that keep the tensors of every step: how fast they grow, and where."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unslow.analyse.memory import container_series as containers
from unslow.analyse.memory.container_growth import growth_place
from unslow.analyse.memory.container_series import ContainerSeries, container_series, hidden_tensors
from unslow.facts.memory import Container
from unslow.model import Location, Loop, Run, Shape

READS = containers.READS
JOINED = ("ndarray", "EagerTensor")  # a container that is one array, joined with every batch

_LEAST_BYTES = 16 << 20  # a judgement: a history of a few MB is no problem
# Where steps get slower meanwhile: computing with it costs more than the memory it takes.
_LEAST_BYTES_USED = 1 << 20
_SLOWER = 0.5  # of a step, from the start to the end; a judgement: less may be the machine
_ARRAY = re.compile(r"array (\w+)\[([\d, ]*)\]")
# Times what an element shows, that it keeps: a view of a larger array. A judgement: of a smaller
# part, a copy frees little.
_MUCH_LARGER = 4
_LEAST_KEPT = 10_000  # bytes of an element: of a small one, most is the object itself
_HEAVY = ("tensor", "array", "Tensor", "Variable", "Tape", "IndexedSlices")


@dataclass(frozen=True)
class Hoard:
    """A container that is worth a finding."""

    container: Container
    line: Location | None  # that fills it: seen at work, or found in the source
    bytes_per_step: float
    held: float  # bytes at the end of the loop
    is_hidden: bool  # its elements hold most of it out of sight
    is_slowing: bool  # steps use all of it and take ever longer

    @property
    def each(self) -> float:
        """Bytes that an element keeps."""
        return self.container.bytes / self.container.length

    @cached_property
    def shown(self) -> float:
        """Bytes that an element shows, if it is a view of a far larger array; or else 0."""
        array = _ARRAY.fullmatch(self.container.element)
        if array is None or self.container.kind in JOINED or not self.container.length:
            return 0.0
        dtype, sides = array.groups()
        try:
            number = np.dtype(dtype).itemsize
        except TypeError:  # of a library that has its own
            return 0.0
        shown = float(number * math.prod(int(side) for side in sides.split(",") if side.strip()))
        return shown if self.each >= max(_MUCH_LARGER * shown, _LEAST_KEPT) else 0.0


def hoards(run: Run, loop: Loop) -> Iterator[Hoard]:
    found = container_series(run, loop)
    hiding, hidden_rate = hidden_tensors(run, loop, found) or (None, 0.0)
    for series in found:
        hoard = _hoard(run, loop, series, hidden_rate if series is hiding else 0.0)
        # An array that is joined somewhere else is none of the script's.
        if hoard is not None and (hoard.line or series.last.kind not in JOINED):
            yield hoard


def _hoard(run: Run, loop: Loop, series: ContainerSeries, hidden_rate: float) -> Hoard | None:
    """`hidden_rate`: bytes per step that its elements hold out of sight, as a tape does."""
    last = series.last
    is_heavy = any(word in last.element for word in _HEAVY)
    if last.bounded or not is_heavy:
        return None
    is_drifting = loop.trend.shape is Shape.DRIFTING and loop.trend.change > _SLOWER
    is_slowing = last.kind in JOINED and is_drifting
    rate = hidden_rate or series.bytes_per_step
    held = last.bytes + rate * max(0, loop.steps - series.steps[-1])
    if hidden_rate:
        held = hidden_rate * loop.steps
    least = _LEAST_BYTES_USED if is_slowing else _LEAST_BYTES
    if rate <= 0 or held < least:
        return None
    return Hoard(last, _line_of(run, last), rate, held, bool(hidden_rate), is_slowing)


def _line_of(run: Run, container: Container) -> Location | None:
    if container.line:
        return Location(container.file, container.line, container.function)
    place = growth_place(run.sources, container.file, container.path)
    return Location(*place, container.function) if place is not None else None
