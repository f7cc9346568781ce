"""A loop of the program: its steps, where they are, and how their time behaves."""

from __future__ import annotations

import enum
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from unslow.facts.phase import Phase
from unslow.facts.schema import Fact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Location:
    """A line of the user's code; `file` is relative to the working directory where it can be."""

    file: str
    line: int
    function: str = ""
    code: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def line_text(location: Location | None) -> str:
    """`file:line`; nothing where there is none."""
    return str(location or "")


class Shape(enum.Enum):
    """How step time behaves over a loop."""

    STEADY = "steady"
    DRIFTING = "drifting"
    JUMPED = "jumped"
    PERIODIC = "periodic"
    UNKNOWN = "too few steps"


@dataclass(frozen=True, slots=True)
class Trend:
    """What became of the step time: typical seconds at the start and at the end."""

    shape: Shape
    before: float
    after: float
    slope: float = 0.0  # seconds per step, drifting only
    slope_low: float = 0.0
    slope_high: float = 0.0
    at_step: int | None = None  # jumped: the first step of the new level
    period: int | None = None  # periodic: steps between long ones
    spike: float = 0.0  # periodic: typical seconds of a long step

    @property
    def change(self) -> float:
        """Relative change from start to end: 0.2 is twenty per cent slower."""
        return self.after / self.before - 1 if self.before > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Loop:
    """One loop: its steps as rows, each of one step, or of `count` merged ones in long runs."""

    location: Location  # the `for` or `while` line, or the line that calls fit()
    update: Location  # the user's line at which the weights change
    style: str  # session, function, eager or keras; predict or data where nothing trains
    process: int
    thread: int
    end: Floats  # seconds since the run began, per row
    count: Ints  # steps in the row
    seconds: Floats  # mean step time of the row
    low: Floats
    high: Floats
    phases: Floats  # rows x len(Phase): mean seconds per step
    trend: Trend
    updates_per_step: float = 1.0
    group: int = 1  # updates that Keras makes in one call (`steps_per_execution`): one step
    stack: tuple[Location, ...] = ()  # user frames at the update, innermost first
    elements: Floats | None = None  # numbers in the batch's first tensor, where they were seen
    trains: bool = True  # False: nothing in the process does, and a step is a repeated call
    values: Floats | None = None  # the last scalar of each step, mostly the loss; NaN without one

    @cached_property
    def steps(self) -> int:
        return int(self.count.sum())

    @cached_property
    def total(self) -> float:
        """Seconds spent in all of its steps."""
        return float((self.seconds * self.count).sum())

    @cached_property
    def number(self) -> Ints:
        """The number of the last step in each row, counted from 1."""
        return self.count.cumsum()

    @cached_property
    def start(self) -> float:
        """When the first step began."""
        return float(self.end[0] - self.seconds[0]) if len(self.end) else 0.0

    @property
    def stop(self) -> float:
        return float(self.end[-1]) if len(self.end) else 0.0

    def phase(self, phase: Phase) -> float:
        """Seconds of one phase over the whole loop."""
        return float((self.phases[:, phase] * self.count).sum())

    def steady(self) -> Floats:
        """Step times without the first step, which pays for tracing and device start."""
        return self.seconds[1:] if len(self.seconds) > 1 else self.seconds

    def typical(self) -> float:
        """The median step time, the first step left out."""
        rows = self.steady().copy()
        rows.sort()
        return float(rows[len(rows) // 2]) if len(rows) else 0.0

    def step_at(self, time: float) -> int:
        """The step under way at a time; 0 before the loop, `steps` + 1 after it."""
        if not len(self.end) or time < self.start:
            return 0
        row = bisect_left(self.end, time)
        if row == len(self.end):
            return self.steps + 1
        return int(self.number[row] - self.count[row]) + 1

    def holds(self, fact: Fact) -> bool:
        """Whether a fact was recorded during this loop."""
        return fact.process == self.process and self.start <= fact.time <= self.stop
