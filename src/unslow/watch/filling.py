"""When something that grows will be full: memory of a process, or a disk."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from unslow.analyse.stats.growth import fit_law

_MOST_POINTS = 256  # points kept; beyond, neighbors are merged
_FEWEST_POINTS = 24  # points before growth is judged
# Seconds of growth: what fills within minutes and then stops is a cache or a buffer.
_SHORTEST_GROWTH = 180.0
_TAKEN_SHARE = (
    0.2  # of the room must have been taken: as much time as that took, four times, is left
)
_LONGEST_FORECAST = 3 * 86_400.0  # seconds: what is full later than that is no news


@dataclass(frozen=True, slots=True)
class Full:
    """Something that will be full."""

    used: float  # bytes now
    rate: float  # bytes a second
    room: float  # bytes that are left

    @property
    def left(self) -> float:
        """Seconds until it is full."""
        return self.room / self.rate if self.rate > 0 else 0.0


@dataclass(slots=True)
class Filling:
    """Bytes in use over time, in bounded memory."""

    least: float = 0.02  # a rise by a smaller share of the bytes is noise
    _times: list[float] = field(default_factory=list)
    _used: list[float] = field(default_factory=list)
    _merged: int = 1  # readings that one point stands for
    _open: list[tuple[float, float]] = field(default_factory=list)

    def add(self, time: float, used: float) -> None:
        if not math.isfinite(used) or (self._times and time <= self._times[-1]):
            return
        self._open.append((time, used))
        if len(self._open) < self._merged:
            return
        self._times.append(sum(t for t, _ in self._open) / len(self._open))
        self._used.append(sum(u for _, u in self._open) / len(self._open))
        self._open.clear()
        if len(self._times) >= _MOST_POINTS:
            self._times = _pairs(self._times)
            self._used = _pairs(self._used)
            self._merged *= 2

    def forecast(self, room: float) -> Full | None:
        """When it is full if it goes on like this; None where it does not, or that is far away."""
        if len(self._times) < _FEWEST_POINTS or self._times[-1] - self._times[0] < _SHORTEST_GROWTH:
            return None
        taken = self._used[-1] - self._used[0]
        if taken < _TAKEN_SHARE * (taken + room):
            return None
        law = fit_law(np.asarray(self._times) - self._times[0], self._used, least=self.least)
        rate = law.rate.value
        if not law.grows or rate <= 0:
            return None
        full = Full(self._used[-1], rate, max(0.0, room))
        return full if full.left <= _LONGEST_FORECAST else None


def _pairs(values: list[float]) -> list[float]:
    even = values[: len(values) // 2 * 2]
    return [(a + b) / 2 for a, b in zip(even[::2], even[1::2], strict=True)]
