"""The time that a proof may take in all: what does not fit into it any more is not begun."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

_LONGEST = 3600.0  # seconds that one trial may take where no budget was given

Clock = Callable[[], float]


class OutOfTime(Exception):
    """The budget ended while a trial was running, or before it could begin."""


@dataclass(frozen=True)
class Budget:
    """Seconds from its creation on; without a number, as long as it takes."""

    seconds: float | None = None
    clock: Clock = time.monotonic
    began: float = field(init=False, default=0.0, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "began", self.clock())

    @property
    def left(self) -> float:
        """Seconds that a trial may take now."""
        if self.seconds is None:
            return _LONGEST
        return max(0.0, self.seconds - (self.clock() - self.began))

    def allows(self, seconds: float) -> bool:
        """Whether work that takes this long can still end in time."""
        return self.seconds is None or seconds <= self.left

    def must_be_left(self) -> None:
        """Raise where nothing is left: a trial that was running was cut short."""
        if self.seconds is not None and self.left <= 0:
            raise OutOfTime
