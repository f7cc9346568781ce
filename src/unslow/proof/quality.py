"""Whether a change trains as well as before: losses over several seeds, by an equivalence test.

For changes that draw other random numbers, so that weights cannot be compared. Both sides run with
the same seeds, which also shift the seeds that the script sets itself. The loss is averaged over
each third of the steps, as a logarithm where it is positive. After is *as good* as before when, in
every third, its mean over the seeds differs from before's by no more than a margin, by tests at 5 %
on either side. The margin is a multiple of the spread from seed to seed. A loss that is far lower
does not pass either: a training that sees a part of its data only, or the same batches again, looks
like that. Seeds are added one by one until the answer is clear.

How often this is wrong is measured by `bench/quality.py`; see docs/quality.md.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from unslow.model import Quality
from unslow.proof.budget import Budget, OutOfTime
from unslow.proof.loss_series import common_losses
from unslow.proof.trials import Side, Trial, run_trial
from unslow.report import words

FEWEST_SEEDS, MOST_SEEDS = 5, 20  # of each side; a training against itself takes 8 on average
# In a trial, or the whole training where that is shorter. Harm often shows late: docs/quality.md
# has what passes by fewer steps.
STEPS = 120
_USUAL_SEEDS = 8  # for which time is planned
_PARTS = 3  # beginning, middle and end of the trial
# Standard deviations over the seeds. With 1.5 a training against itself took 11 seeds; with 2.0
# twice as many harmful changes passed.
_MARGIN = 1.75
_LEAST_MARGIN = 0.01  # of the loss: smaller differences matter to nobody (judgement)
_MOST_SPREAD = 2.0  # after's variance counts up to this multiple of before's: harm may widen it
_ONE_IN_20, _ONE_IN_200 = 1.6449, 2.5758  # points of the normal distribution, one-sided
_FEWEST = 12  # losses in a trial, so that a third of them has a mean

Floats = npt.NDArray[np.float64]
Progress = Callable[[str], None]


class Answer(enum.Enum):
    SAME = "same"
    DIFFERENT = "different"
    OPEN = "open"  # more seeds are needed


@dataclass(frozen=True)
class Judgement:
    """What the losses of some seeds say."""

    answer: Answer
    quality: Quality
    moved: bool  # the loss changed more between first and last third than the margin allows


@dataclass(frozen=True)
class Pace:
    """Seconds of a pair of trials: up to the second step of both, and for each step of both."""

    start: float
    step: float

    @classmethod
    def of(cls, before: Trial, after: Trial) -> Pace:
        rest = [float(trial.seconds[trial.group :].sum()) for trial in (before, after)]
        starts = max(0.0, before.took - rest[0]) + max(0.0, after.took - rest[1])
        steady = np.nan_to_num([before.steady, after.steady])  # one of them may have a single step
        return cls(starts, float(steady.sum()))

    def pairs(self, count: int, steps: int) -> float:
        return count * (self.start + steps * self.step)


@dataclass(frozen=True)
class Comparison:
    """What became of the comparison; without a quality, why there is none."""

    quality: Quality | None
    missing: str = ""
    unsure: bool = False  # more time or more steps could have decided


@dataclass(frozen=True)
class Plan:
    """The trials that are run: of how many steps, how long a pair takes, and how long all may."""

    steps: int
    pace: Pace
    budget: Budget


def compare_quality(
    sides: tuple[Side, Side], plan: Plan, progress: Progress = lambda text: None
) -> Comparison:
    """Run both sides with one seed after the other, until it is clear whether after is as good."""
    needed = plan.pace.pairs(FEWEST_SEEDS, plan.steps)
    if not plan.budget.allows(needed):
        usual = words.seconds(plan.pace.pairs(_USUAL_SEEDS, plan.steps))
        left = words.seconds(plan.budget.left)
        what = f"the loss of {plan.steps} steps with about {_USUAL_SEEDS} seeds"
        return Comparison(None, f"comparing {what} takes {usual}, and {left} are left", True)
    trials: list[tuple[Trial, Trial]] = []
    judged = None
    for seed in range(1, MOST_SEEDS + 1):
        progress(f"seed {seed}: comparing the loss")
        try:
            trials.append(_run_pair(sides, seed, plan))
        except OutOfTime:
            return _out_of_time(judged, len(trials))
        losses = common_losses([trial.series for pair in trials for trial in pair], _FEWEST)
        if losses is None:
            return Comparison(None, _unseen(trials[-1]))
        if seed < FEWEST_SEEDS:
            continue
        judged = judge(losses[::2], losses[1::2])
        if judged.answer is not Answer.OPEN:
            break
    assert judged is not None
    was_cut = any(trial.steps >= plan.steps for pair in trials for trial in pair)
    if judged.answer is Answer.SAME and was_cut and not judged.moved:
        why = f"the loss moved less in {plan.steps} steps than it differs between seeds"
        return Comparison(None, f"{why}, which shows nothing", True)
    return Comparison(judged.quality)


def _run_pair(sides: tuple[Side, Side], seed: int, plan: Plan) -> tuple[Trial, Trial]:
    pair = []
    for side in sides:
        plan.budget.must_be_left()
        pair.append(run_trial(side, plan.steps, seed=seed, timeout=plan.budget.left))
        if pair[-1].ended == "killed by SIGINT":
            raise KeyboardInterrupt
        plan.budget.must_be_left()
    return pair[0], pair[1]


def _out_of_time(judged: Judgement | None, seeds: int) -> Comparison:
    if judged is None:
        return Comparison(None, f"the loss of {words.count(seeds, 'seed')} is too little", True)
    gap = f"off by up to {judged.quality.worst_gap:+.2g}, allowed ±{judged.quality.margin:.2g}"
    return Comparison(None, f"the loss of {seeds} seeds does not decide: {gap}", True)


def _unseen(pair: tuple[Trial, Trial]) -> str:
    """Why there is nothing to compare."""
    most = [max((len(values) for values in trial.series.values()), default=0) for trial in pair]
    if min(most) == 0:
        return "no loss was seen to compare how well it trains"
    if min(most) < _FEWEST:
        seen = words.count(min(most), "loss value")
        return f"{seen} in a trial: too few to compare how well it trains"
    return "before and after have no loss in common to compare how well they train"


# The test


def judge(before: Sequence[Floats], after: Sequence[Floats]) -> Judgement:
    """The equivalence test on the losses of each seed; the worst third decides."""
    means = np.array([_means(before), _means(after)])
    is_positive = bool((means > 0).all())
    parts = _Parts(np.log(means) if is_positive else means, is_positive)
    worst = int(np.argmax(np.abs(parts.gap) + parts.error(_ONE_IN_20) - parts.margin))
    answer = parts.answer()
    moved = abs(float(parts.before[:, -1].mean() - parts.before[:, 0].mean()))
    quality = replace(parts.quality(worst, means), same=answer is Answer.SAME)
    return Judgement(answer, quality, moved > float(parts.margin.max()))


@dataclass(frozen=True)
class _Parts:
    """Mean losses of both sides: for each seed, and each part of the steps."""

    means: Floats
    is_log: bool

    @property
    def before(self) -> Floats:
        before: Floats = self.means[0]
        return before

    @property
    def gap(self) -> Floats:
        gap: Floats = (self.means[1] - self.means[0]).mean(axis=0)
        return gap

    @property
    def margin(self) -> Floats:
        first, second = self.means.var(axis=1, ddof=1)
        spread = np.sqrt((first + np.minimum(second, _MOST_SPREAD * first)) / 2)
        level = 1.0 if self.is_log else np.abs(self.before.mean(axis=0))
        margin: Floats = np.maximum(_MARGIN * spread, _LEAST_MARGIN * level)
        return margin

    def error(self, point: float) -> Floats:
        """Of the gap: seeds are pairs, which may begin with the same weights."""
        seeds = self.means.shape[1]
        deviation = (self.means[1] - self.means[0]).std(axis=0, ddof=1)
        error: Floats = _student(point, seeds - 1) * deviation / np.sqrt(seeds)
        return error

    def answer(self) -> Answer:
        if not np.isfinite(self.means).all():
            return Answer.DIFFERENT
        gap, margin = np.abs(self.gap), self.margin
        if (gap + self.error(_ONE_IN_20) <= margin).all():
            return Answer.SAME
        if (gap - self.error(_ONE_IN_200) > margin).any():
            return Answer.DIFFERENT
        return Answer.OPEN

    def quality(self, part: int, means: Floats) -> Quality:
        """What is reported of one part, in units of the loss."""
        before, after = (float(side[:, part].mean()) for side in means)
        gap, error = float(self.gap[part]), float(self.error(_ONE_IN_20)[part])
        worst, margin = (gap + error if gap >= 0 else gap - error), float(self.margin[part])
        if self.is_log:
            worst, margin = before * float(np.expm1(worst)), before * float(np.expm1(margin))
        return Quality(self.means.shape[1], before, after, worst, margin, same=False)


def _means(side: Sequence[Floats]) -> Floats:
    """The mean loss of every seed in each part."""
    rows = [[float(np.mean(part)) for part in np.array_split(one, _PARTS)] for one in side]
    return np.array(rows)


def _student(point: float, freedom: int) -> float:
    """The point of Student's t that has this point of the normal distribution.

    The series of Fisher and Cornish; within 1.3 % from 4 degrees of freedom on.
    """
    cube, fifth, seventh = point**3, point**5, point**7
    first = (cube + point) / (4 * freedom)
    second = (5 * fifth + 16 * cube + 3 * point) / (96 * freedom**2)
    third = (3 * seventh + 19 * fifth + 17 * cube - 15 * point) / (384 * freedom**3)
    return point + first + second + third
