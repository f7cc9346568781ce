"""Whether a growth that trials show before a change is gone after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from unslow.analyse.grouping import known
from unslow.analyse.stats.growth import Slope, slope
from unslow.model import Growth
from unslow.proof.trials import Trial

_GONE = 0.2  # of the growth before: what is left is within the noise of a slope (judgement)
_FEWEST_POINTS = 8  # of a slope with an interval (judgement)


def growth_gone(before_trials: Sequence[Trial], after_trials: Sequence[Trial]) -> Growth | None:
    """The step time, the memory or the files that grew before and do not after, by slope."""
    for name, rate in _GROWTHS.items():
        before, after = rate(before_trials), rate(after_trials)
        if before is None or after is None:
            continue
        if before.low > 0 and abs(after.value) <= _GONE * before.value:
            return Growth(name, before.value, after.value)
    return None


def _step_time(trials: Sequence[Trial]) -> Slope | None:
    """Of each step's median over the trials; a busy machine may reverse one trial, not two."""
    steps = min(len(trial.seconds) for trial in trials)
    rows = [trial.seconds[1:steps] for trial in trials]
    numbers = np.arange(steps - 1)
    median = _slope(numbers, np.median(rows, axis=0))
    each = known(_slope(numbers, row) for row in rows)
    lows = sorted(one.low for one in each)
    if median is None or not lows:
        return None
    second_lowest = lows[min(1, len(lows) - 1)]
    return Slope(median.value, min(median.low, second_lowest), median.high)


def _together(slopes: Sequence[Slope | None]) -> Slope | None:
    """The median slope, with the widest interval."""
    seen = known(slopes)
    if len(seen) < len(slopes):
        return None
    value = float(np.median([one.value for one in seen]))
    return Slope(value, min(one.low for one in seen), max(one.high for one in seen))


_GROWTHS: Mapping[str, Callable[[Sequence[Trial]], Slope | None]] = {
    "step time": _step_time,
    "memory": lambda trials: _together([_slope(trial.rss_steps, trial.rss) for trial in trials]),
    "disk use": lambda trials: _together(
        [_late_rate(trial.files_steps, trial.files) for trial in trials]
    ),
}


def _slope(x: np.ndarray, y: np.ndarray) -> Slope | None:
    return slope(x, y) if len(x) >= _FEWEST_POINTS else None


def _late_rate(x: np.ndarray, y: np.ndarray) -> Slope | None:
    """Bytes per step in the second half: a script that keeps its last few files grows until then.

    Bytes of files are counted, so there is no interval.
    """
    late = x >= x.max(initial=0.0) / 2
    steps, sizes = x[late], y[late]
    if len(steps) < 3 or steps[-1] <= steps[0]:
        return None
    rate = float((sizes[-1] - sizes[0]) / (steps[-1] - steps[0]))
    return Slope(rate, rate, rate)
