"""A block as it is compared with the past: by the wall's time, by processor time, or by both."""

from __future__ import annotations

import math
from dataclasses import dataclass

from unslow.watch.blocks import Block
from unslow.watch.load import Usage

_LOADS = (0.05, 0.15, 0.3, 0.5, 0.7)  # shares of the machine's cores that others use, as borders
_QUIET = 2  # of these loads: others use less than 15 % of the machine
_CROWDED = len(_LOADS) + 1  # others leave too little for the wall's time to say anything


@dataclass(frozen=True, slots=True)
class Kind:
    """Blocks are compared with blocks of the same kind only."""

    site: int  # the update that leads
    octave: int  # how long its rows are
    load: int  # how busy others keep the machine

    @property
    def is_quiet(self) -> bool:
        return self.load < _QUIET


@dataclass(frozen=True, slots=True)
class Times:
    """What a block took, by one measure, as logarithms of seconds."""

    step: float
    element: float  # per element of the batches; NaN where they are not known


@dataclass(frozen=True, slots=True)
class Measured:
    """What is compared of a block."""

    kind: Kind
    begin: float
    wall: Times | None  # None where others leave too little for it to say anything
    work: Times | None  # processor time; None on a quiet machine, where the wall says more


def measured(block: Block, usage: Usage) -> Measured:
    """A block by the measures that say something under its load."""
    load = sum(usage.others >= border for border in _LOADS)
    wall = _times(block.step, block.element)
    if load < _QUIET or usage.own <= 0:
        return Measured(Kind(block.site, block.octave, load), block.begin, wall, None)
    cores = usage.own / (block.end - block.begin)
    work = _times(cores * block.mean, cores * block.mean / block.step * block.element)
    if usage.crowded:
        return Measured(Kind(block.site, block.octave, _CROWDED), block.begin, None, work)
    return Measured(Kind(block.site, block.octave, load), block.begin, wall, work)


def _times(step: float, element: float) -> Times:
    return Times(math.log(step), math.log(element) if element > 0 else math.nan)
