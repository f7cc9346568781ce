"""Whether a change trains as well as before: losses over several seeds, by an equivalence test.

For changes that draw other random numbers, so that weights cannot be compared. Both sides run with
the same seeds, which also shift the seeds that the script sets itself. The loss is averaged over
each third of the steps. After is *as good* as before when, in every third, its mean loss over the
seeds differs from before's by no more than a margin, by tests at 5 % on either side. The margin
is a multiple of the spread of before from seed to seed. A loss that is far lower does not pass
either: a training that sees a part of its data only, or the same batches again, looks like that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from unslow.model import Quality
from unslow.proof.budget import Budget
from unslow.proof.trials import Side, run_trial

# Of each side. With six, a real training was refused against itself in 6 % of decisions, and harm
# accepted in 10 %; what ten do is in docs/quality.md.
SEEDS = 10
_PARTS = 3  # beginning, middle and end of the trial
# Standard deviations of before over the seeds. Simulated with normal losses: a training against
# itself is refused in 1.3 % of proofs, one that is 3 of them worse is accepted in 0.6 %.
_MARGIN = 2.5
_LEAST_MARGIN = 0.01  # of the loss: smaller differences matter to nobody (judgement)
_T_95 = 1.734  # one-sided 5 % point of Student's t with 2 * (SEEDS - 1) degrees of freedom
_FEWEST = 12  # losses in a trial, so that a third of them has a mean
# In a trial. The trials that measure a slow step may have fewer; twice the losses that are needed,
# since the loss of a step is not always seen.
_FEWEST_STEPS = 2 * _FEWEST

Floats = npt.NDArray[np.float64]
Progress = Callable[[str], None]


def compare_quality(
    sides: tuple[Side, Side], steps: int, budget: Budget, progress: Progress = lambda text: None
) -> Quality | None:
    """Run both sides with several seeds; None where no loss was seen to compare."""
    losses: list[tuple[Floats, Floats]] = []
    for seed in range(1, SEEDS + 1):
        progress(f"seed {seed} of {SEEDS}: comparing the loss")
        pair = []
        for side in sides:
            budget.must_be_left()
            trial = run_trial(side, max(steps, _FEWEST_STEPS), seed=seed, timeout=budget.left)
            pair.append(trial.losses)
            budget.must_be_left()
        if any(len(one) < _FEWEST for one in pair):
            return None
        losses.append((pair[0], pair[1]))
    return judge([one for one, _ in losses], [other for _, other in losses])


def judge(before: Sequence[Floats], after: Sequence[Floats]) -> Quality:
    """The equivalence test on the losses of each seed; the worst third decides."""
    parts = [_part(before, after, number) for number in range(_PARTS)]
    worst = max(parts, key=lambda part: abs(part.worst_gap) - part.margin)
    return replace(worst, same=all(part.same for part in parts))


def _part(before: Sequence[Floats], after: Sequence[Floats], number: int) -> Quality:
    every = [_means(side) for side in (before, after)]
    first, second = (means[:, number] for means in every)
    margin = max(_MARGIN * _spread(every[0], number), _LEAST_MARGIN * abs(float(first.mean())))
    error = float(np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / len(first)))
    gap = float(second.mean() - first.mean())
    worst_gap = gap + _T_95 * error if gap >= 0 else gap - _T_95 * error
    is_finite = bool(np.isfinite([worst_gap, margin]).all())
    return Quality(
        seeds=len(first),
        before=float(first.mean()),
        after=float(second.mean()),
        worst_gap=worst_gap,
        margin=margin,
        same=is_finite and abs(worst_gap) <= margin,
    )


def _means(side: Sequence[Floats]) -> Floats:
    """The mean loss of every seed in each part."""
    rows = [[float(np.mean(part)) for part in np.array_split(one, _PARTS)] for one in side]
    return np.array(rows)


def _spread(means: Floats, number: int) -> float:
    """The standard deviation over the seeds in a part, or what the other parts say if that is more.

    A few seeds may lie close together by chance; that they do so in every part is less likely.
    """
    deviations = means.std(axis=0, ddof=1)
    levels = np.abs(means.mean(axis=0))
    relative = float(np.sqrt(np.mean((deviations / np.maximum(levels, 1e-12)) ** 2)))
    return max(float(deviations[number]), relative * float(levels[number]))
