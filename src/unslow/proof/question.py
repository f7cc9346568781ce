"""What must be shown for a change, and how many steps and trials that takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from unslow.facts.memory import MemoryHigh
from unslow.model import Finding, Run
from unslow.proof.budget import Budget
from unslow.proof.measures import AllSteps, Measure, PeakMemory, SteadySteps, WholeProgram

PAIRS = 5  # trials of each side at most
LEAST_STEPS = 5
TO_THE_END = 10**9  # steps: the program ends before
_TRIAL_SECONDS = 10.0  # that one trial should take, its start included
_START_SECONDS = 5.0  # importing TensorFlow and building a model, roughly (measured on CPUs)
_AT_PEAK = 0.95  # of the peak: what comes later adds too little to wait for it

IsDecided = Callable[[Sequence[float], Sequence[float]], bool]


@dataclass(frozen=True)
class Question:
    """What to prove: that what `measure` compares got better, or that a growth is gone."""

    steps: int
    measure: Measure = field(default_factory=SteadySteps)
    grows: bool = False
    pairs: int = PAIRS
    quality: bool = False  # other weights are no objection if the loss is as good
    training: int | None = None  # steps that the recorded training had, if it is known
    in_turns: bool = False  # both trials of a pair run at once, a fraction of a second each in turn
    # Ends the trials early, given seconds before and after; by default a large and clear
    # difference does.
    is_decided: IsDecided | None = None
    budget: Budget = field(default_factory=Budget)


def steps_for(run: Run, seconds: float = _TRIAL_SECONDS) -> int:
    """As many steps as one trial of about ten seconds has, and no more than the run had."""
    typical = max((loop.typical() for loop in run.loops), default=0.0)
    if typical <= 0:
        return LEAST_STEPS
    return max(LEAST_STEPS, min(run.steps, int((seconds - _START_SECONDS) / typical)))


def question_for(run: Run, finding: Finding, steps: int | None = None) -> Question:
    """What must be shown for a finding's fix: where its cost lies, and whether it grows."""
    if finding.frees > 0:
        enough = max(steps or 0, _steps_to_peak(run))
        return Question(enough, PeakMemory(), finding.grows)
    if finding.stretch or run.steps < LEAST_STEPS:
        return Question(TO_THE_END, WholeProgram(), finding.grows)
    measure = AllSteps() if finding.in_first_step else SteadySteps()
    return Question(steps or steps_for(run), measure, finding.grows)


def _steps_to_peak(run: Run) -> int:
    """The steps that a process must do to reach its peak; the peak may also come after the last."""
    highs = list(run.facts(MemoryHigh))
    peak = max((high.bytes for high in highs), default=0.0)
    first = next((high for high in highs if high.bytes >= _AT_PEAK * peak), None)
    if first is None or first.step >= run.steps:
        return TO_THE_END
    return max(steps_for(run), first.step + 1)
