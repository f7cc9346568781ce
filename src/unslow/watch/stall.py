"""When a training that makes no steps has stalled, and is not just validating or saving."""

from __future__ import annotations

from dataclasses import dataclass

IDLE = 60.0  # seconds without a step and without work before it is called stalled (judgement)
BUSY = 600.0  # the same for a process that works: it may validate, save or prepare data
_LONGER = 5.0  # times the longest step so far: what happened before is usual
_WARM_UP = 30.0  # seconds after the first steps
_WORKS = 0.05  # of a core: a process that uses less waits
_RARELY = 6.0  # times the distance of its readings that a process may be silent


@dataclass(frozen=True, slots=True)
class Stalled:
    """A training without steps."""

    since: float  # by the process's clock
    seconds: float
    works: bool  # it uses the processor


@dataclass(slots=True)
class Pauses:
    """The pauses between steps of one process, by its clock."""

    last: float = 0.0  # when the last step ended
    longest: float = 0.0  # seconds of a step, with the validation in it
    _first: float = 0.0

    def took(self, longest: float, end: float) -> None:
        """Steps up to `end`. The first ones trace and compile: they do not show what is usual."""
        self._first = self._first or end
        if end - self._first > _WARM_UP:
            self.longest = max(self.longest, longest)
        self.last = max(self.last, end)

    def stalled(self, now: float, cores: float | None, distance: float) -> Stalled | None:
        """`cores` that it uses now, None if unknown; `distance` in seconds between its readings."""
        works = cores is not None and cores >= _WORKS
        allowed = max(BUSY if works else IDLE, _LONGER * self.longest)
        if cores is None:
            allowed = max(allowed, _RARELY * distance)
        silent = now - self.last
        return Stalled(self.last, silent, works) if self.last and silent > allowed else None
