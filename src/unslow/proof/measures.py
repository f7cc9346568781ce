"""What a proof compares: steps, steps with the first one, whole programs, or their memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unslow.model import Peak
from unslow.proof.trials import Trial
from unslow.report import words

ENOUGH_TO_STOP = 3  # pairs after which a large and clear difference ends the trials
_LIGHTER = 0.1  # of the peak: a smaller cut is not worth changing somebody's code (judgement)


@dataclass(frozen=True)
class SteadySteps:
    """Seconds per step, without the first one."""

    unit = "a step"
    times_runs = False  # whether whole processes are timed instead of steps
    to_end = False  # whether both sides run to their own end, however many steps that takes

    def seconds(self, trial: Trial) -> float:
        return trial.steady

    def describe(self, trial: Trial) -> str:
        first = words.seconds(trial.first)
        return (
            f"{words.seconds(self.seconds(trial))} a step over {trial.steps} steps, first {first}"
        )

    def is_lighter(self, before: Sequence[Trial], after: Sequence[Trial]) -> bool:
        """Whether every trial after the change peaks clearly below every one before it."""
        return False

    def peak(self, before: Sequence[Trial], after: Sequence[Trial]) -> Peak | None:
        return None


@dataclass(frozen=True)
class AllSteps(SteadySteps):
    """Seconds per step, the first one included."""

    def seconds(self, trial: Trial) -> float:
        return trial.whole


@dataclass(frozen=True)
class WholeProgram(SteadySteps):
    """Seconds from start to end: the cost lies outside of the steps, or there are too few."""

    unit = "a run"
    times_runs = True
    to_end = True

    def seconds(self, trial: Trial) -> float:
        return trial.took

    def describe(self, trial: Trial) -> str:
        return f"{words.seconds(trial.took)} to its end"


@dataclass(frozen=True)
class PeakMemory(SteadySteps):
    """The most memory that a process holds, and its seconds."""

    unit = "a run"
    times_runs = True
    to_end: bool = False

    def seconds(self, trial: Trial) -> float:
        return trial.took

    def describe(self, trial: Trial) -> str:
        return f"{words.seconds(trial.took)}, {words.size(trial.peak)} at its peak"

    def is_lighter(self, before: Sequence[Trial], after: Sequence[Trial]) -> bool:
        if len(before) < ENOUGH_TO_STOP:
            return False
        lowest = min(trial.peak for trial in before)
        return max(trial.peak for trial in after) <= (1 - _LIGHTER) * lowest

    def peak(self, before: Sequence[Trial], after: Sequence[Trial]) -> Peak | None:
        sides = ([trial.peak for trial in side] for side in (before, after))
        return Peak(*(float(np.median(side)) for side in sides))


Measure = SteadySteps
_WIDEST_LAST = (SteadySteps, AllSteps, WholeProgram, PeakMemory)


def combined(measures: Sequence[Measure]) -> Measure:
    """The measure that shows what each of these would show."""
    widest = max(measures, key=lambda measure: _WIDEST_LAST.index(type(measure)))
    if isinstance(widest, PeakMemory):
        return PeakMemory(to_end=any(measure.to_end for measure in measures))
    return widest
