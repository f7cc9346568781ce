"""A block as it is compared with the past: by the wall's time, by processor time, or by both."""

from __future__ import annotations

import math
from dataclasses import dataclass

from unslow.watch.blocks import Block
from unslow.watch.load import Usage

_LOADS = (0.05, 0.15, 0.3, 0.5, 0.7)  # shares of the machine's cores that others use, as borders
_QUIET = 2  # of these loads: others use less than 15 % of the machine
_CROWDED = len(_LOADS) + 1  # others leave too little for the wall's time to say anything
# Each time that others leave a third less than usual is another load: a step is interrupted more
# often, and what a process does every second weighs more. In recordings of a healthy training that
# had half as much as usual, a step took up to 45 % more processor time.
_LESS = math.log(1.5)
_MOST_LESS = 4  # of these


@dataclass(frozen=True, slots=True)
class Kind:
    """Blocks are compared with blocks of the same kind only."""

    site: int  # the update that leads
    octave: int  # how long its rows are
    load: int  # how busy others keep the machine

    @property
    def is_quiet(self) -> bool:
        return self.load < _QUIET

    @property
    def is_crowded(self) -> bool:
        return self.load >= _CROWDED

    def with_less(self, less: float) -> Kind:
        """A crowded machine that leaves less than usual, by a logarithm."""
        times = max(0, min(_MOST_LESS, int(less / _LESS)))
        return Kind(self.site, self.octave, _CROWDED + times)


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
    cores: float  # that it used, as a logarithm


def measured(block: Block, usage: Usage) -> Measured:
    """A block by the measures that say something under its load."""
    load = sum(usage.others >= border for border in _LOADS)
    wall = _times(block.step, block.element)
    kind = Kind(block.site, block.octave, load)
    if kind.is_quiet or usage.own <= 0:
        return Measured(kind, block.begin, wall, None, -math.inf)
    cores = usage.own / (block.end - block.begin)
    work = _times(cores * block.mean, cores * block.mean / block.step * block.element)
    if not usage.crowded:
        return Measured(kind, block.begin, wall, work, math.log(cores))
    kind = Kind(block.site, block.octave, _CROWDED)
    return Measured(kind, block.begin, None, work, math.log(cores))


def _times(step: float, element: float) -> Times:
    return Times(math.log(step), math.log(element) if element > 0 else math.nan)
