"""Two runs side by side: what got better or worse, by phase and by cause."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unslow.analyse.stats.growth import bootstrap_ratio
from unslow.model import Diagnosis, Loop, Phase

_BLOCKS = (
    20  # step times are compared as means of so many blocks: steps of one run are not independent
)


@dataclass(frozen=True)
class Compared:
    """One loop of the first run against its counterpart in the second; `ratio` over 1 is slower."""

    line: str
    before: float  # typical seconds per step
    after: float
    ratio: float
    low: float
    high: float
    phases: dict[str, tuple[float, float]]  # mean seconds per step of each phase, before and after


@dataclass(frozen=True)
class Comparison:
    loops: tuple[Compared, ...]
    gone: tuple[str, ...]  # causes found in the first run alone
    new: tuple[str, ...]
    stayed: tuple[str, ...]

    @property
    def slowest(self) -> float:
        """The largest slow-down that is sure: the lower end of its interval."""
        return max((loop.low for loop in self.loops), default=1.0)


def compare(first: Diagnosis, second: Diagnosis) -> Comparison:
    pairs = zip(first.run.loops, second.run.loops, strict=False)
    before = {finding.cause for finding in first.findings if finding.fault}
    after = {finding.cause for finding in second.findings if finding.fault}
    return Comparison(
        loops=tuple(_compared(one, other) for one, other in pairs),
        gone=tuple(sorted(before - after)),
        new=tuple(sorted(after - before)),
        stayed=tuple(sorted(before & after)),
    )


def _compared(one: Loop, other: Loop) -> Compared:
    ratio, low, high = bootstrap_ratio(_blocks(other), _blocks(one))
    return Compared(
        line=str(one.location),
        before=one.typical(),
        after=other.typical(),
        ratio=ratio,
        low=low,
        high=high,
        phases={
            phase.name.lower(): (one.phase(phase) / one.steps, other.phase(phase) / other.steps)
            for phase in Phase
            if one.phase(phase) + other.phase(phase) > 0.01 * (one.total + other.total)
        },
    )


def _blocks(loop: Loop) -> list[float]:
    parts = np.array_split(loop.steady(), min(_BLOCKS, max(1, len(loop.steady()))))
    return [float(part.mean()) for part in parts if len(part)]
