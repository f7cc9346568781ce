"""The time that Python's garbage collector takes in a loop, and the lines that ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.grouping import grouped
from unslow.facts.memory import Gc
from unslow.model import Forecast, Location, Loop, Phase, Run

if TYPE_CHECKING:
    from unslow.model import Floats

_TREND = 10  # steps with a pause in each half of a loop, so that the halves can be compared
_GROWN = 1.5  # times the first half: a judgement, well above what halves of a steady loop differ by
_ONE_OFF = 2  # the longest pauses: they may be the end of a set-up


@dataclass(frozen=True)
class CollectorPauses:
    """Seconds per row after the first, without rows that mostly build or trace."""

    rows: Floats
    steady: float  # seconds of all these rows
    early: float  # seconds per step in the first half
    late: float
    grows: bool

    @property
    def paused(self) -> Floats:
        """The rows with a pause, the shortest first."""
        return np.sort(self.rows[self.rows > 0])

    @property
    def total(self) -> float:
        return float(self.rows.sum())

    @property
    def recurring(self) -> float:
        """Seconds without the longest pauses."""
        return float(self.paused[:-_ONE_OFF].sum())

    def forecast(self, loop: Loop) -> Forecast | None:
        """The step time after ten times as many steps, extrapolated from the two halves."""
        if not self.grows:
            return None
        per_step = (self.late - self.early) / (loop.steps / 2)
        rest = (self.steady - self.total) / max(1, loop.steps - 1)
        step = loop.steps * 10
        pause = self.early + per_step * (step - loop.steps / 4)
        return Forecast(step=step, step_seconds=rest + pause)


def collector_pauses(loop: Loop) -> CollectorPauses:
    table, count = loop.phases[1:], loop.count[1:]
    builds = table[:, Phase.TRACE] + table[:, Phase.BUILD]
    pauses = np.where(builds > table[:, Phase.GC], 0.0, table[:, Phase.GC])
    half = len(pauses) // 2
    early = float(np.average(pauses[:half], weights=count[:half]))
    late = float(np.average(pauses[half:], weights=count[half:]))
    fewest = min(np.count_nonzero(pauses[:half]), np.count_nonzero(pauses[half:]))
    return CollectorPauses(
        rows=pauses * count,
        steady=max(1e-12, float((loop.seconds[1:] * count).sum())),
        early=early,
        late=late,
        grows=bool(fewest >= _TREND) and late > _GROWN * early > 0,
    )


@dataclass(frozen=True)
class AskedCollections:
    """What one line of the user's asks for in a loop, itself or through a library."""

    location: Location
    calls: int
    seconds: float


def asked_collections(run: Run, loop: Loop) -> list[AskedCollections]:
    """One entry per line, the most expensive first. Facts are thinned out, their totals are not."""
    asked = [one for one in run.facts_during(loop, Gc) if one.asked and one.stack]
    by_line = grouped(asked, lambda one: one.key).values()
    found = [_between(run, collections[0], collections[-1]) for collections in by_line]
    return sorted(found, key=lambda each: -each.seconds)


def _between(run: Run, first: Gc, last: Gc) -> AskedCollections:
    return AskedCollections(
        location=say.place(run, last.stack[0]),
        calls=last.n - first.n + 1,
        seconds=last.sum - (first.sum - first.took),
    )
