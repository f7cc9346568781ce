"""How fast a quantity grows, with what, whether it goes on, and where that leads."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse.stats.changepoints import Change, Form, best_change
from unslow.analyse.stats.robust import (
    ascent,
    autocorrelation,
    block_means,
    block_middles,
    clipped,
    median_of,
    spread,
    student,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from unslow.model import Floats

_BLOCKS = 64  # 2 016 pairs of them take no time, and each is calm
_FEWEST_POINTS = 4  # points below which nothing is said of growth
_HELD_SHARE = 0.85  # a rise that is over before this share of a series has settled
_RESAMPLED = 2000  # the interval's ends then move by some per cent of its width from seed to seed
_MACHINE_WANDER = 0.3  # a machine's own wander may look like a smaller rise
# a straight line makes half of its rise in its second half; with less than this it has settled
_SETTLED = 0.2


@dataclass(frozen=True, slots=True)
class Slope:
    """What y gains per unit of x, with its 95% interval; infinite where points are too few."""

    value: float
    low: float
    high: float

    def sure(self, times: float = 1.0) -> bool:
        """Whether it is not zero, by an interval so many times as wide."""
        reach = times * (self.high - self.low) / 2
        return abs(self.value) > reach


_ZERO = Slope(0.0, 0.0, 0.0)
_NOTHING = Slope(0.0, -math.inf, math.inf)


def slope(x: npt.ArrayLike, y: npt.ArrayLike) -> Slope:
    """Theil and Sen's slope of block middles, its interval widened by autocorrelation."""
    across, up = _finite(x, y)
    if np.any(np.diff(across) < 0):
        # In order of x a block has one x; where x is time this is the order in time, as
        # autocorrelation needs.
        order = np.argsort(across, kind="stable")
        across, up = across[order], up[order]
    return _slope(block_means(across, _BLOCKS), block_middles(up, _BLOCKS))


def _finite(*columns: npt.ArrayLike) -> tuple[Floats, ...]:
    """The rows that are finite in every column."""
    arrays = [np.asarray(column, dtype=float) for column in columns]
    usable = np.logical_and.reduce([np.isfinite(array) for array in arrays])
    return tuple(array[usable] for array in arrays)


def _slope(across: Floats, up: Floats) -> Slope:
    first, second = np.triu_indices(len(across), 1)
    run = across[second] - across[first]
    apart = run > 0
    if not apart.any():
        return _NOTHING
    value = float(np.median((up[second] - up[first])[apart] / run[apart]))
    size = len(across)
    if size < _FEWEST_POINTS:
        return Slope(value, -math.inf, math.inf)
    rest = up - value * across
    rest = clipped(rest, 0.0)
    rest -= rest.mean()
    rho = autocorrelation(rest, 2)
    inflation = (1 + rho) / (1 - rho)
    variance = float(rest @ rest) / (size - 2) / float(np.sum((across - across.mean()) ** 2))
    error = student(size / inflation - 2) * math.sqrt(variance * inflation)
    return Slope(value, value - error, value + error)


class Kind(enum.Enum):
    """What a quantity goes with."""

    CONSTANT = "constant"
    LINEAR = "linear in the steps"
    COUNTER = "linear in a counter"


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line."""

    level: float
    rate: Slope

    def at(self, place: float) -> float:
        return self.level + self.rate.value * place


@dataclass(frozen=True, slots=True)
class Law:
    """How a quantity follows the steps: directly, or through a counter that follows them."""

    kind: Kind
    line: Line  # over steps, or over the counter; flat where the law is CONSTANT
    grows: bool  # it rises, and does so to the end
    levels_off: bool  # it rose and has settled
    quality: float  # share of what moves that the law explains, from 0 to 1
    counter: Line | None = None  # how the counter follows the steps

    @property
    def rate(self) -> Slope:
        return self.line.rate

    def forecast(self, step: float) -> float:
        """The value at a step, or at what the counter is expected to be there."""
        return self.line.at(step if self.counter is None else self.counter.at(step))


def fit_law(
    steps: npt.ArrayLike,
    values: npt.ArrayLike,
    counter: npt.ArrayLike | None = None,
    least: float = 0.01,
) -> Law:
    """The simplest law of some values; a total change below the share `least` is none."""
    columns = _finite(steps, values, steps if counter is None else counter)
    place, count = block_means(columns[0], _BLOCKS), block_means(columns[2], _BLOCKS)
    value = block_middles(columns[1], _BLOCKS)
    flat = Line(median_of(value), _ZERO)
    if len(value) < _FEWEST_POINTS:
        return Law(Kind.CONSTANT, flat, False, False, 0.0)
    if counter is not None and (driven := _driven(place, value, count, least)):
        return driven
    if levels_off(value, place, least):
        settled = Line(float(np.median(value[_late(place, 1 / 3)])), _ZERO)
        return Law(Kind.CONSTANT, settled, False, True, _quality(value, place, settled))
    grows, line = _growth(place, value, least)
    quality = _quality(value, place, line)
    if counter is not None:
        by_count = _line(count, value)
        counted = _quality(value, count, by_count)
        is_real = by_count.rate.sure() and _moves(by_count, count, value, least)
        # A counter that the steps drive explains as much as they do, and says more.
        if is_real and counted >= quality - 0.02:
            late = _late(place, 1 / 2)
            onward = _line(place[late], count[late])
            return Law(Kind.COUNTER, by_count, grows, False, counted, onward)
    if line.rate.value == 0:
        return Law(Kind.CONSTANT, flat, False, False, 0.0)
    return Law(Kind.LINEAR, line, grows, False, quality)


def _driven(place: Floats, value: Floats, count: Floats, least: float) -> Law | None:
    """The law of a counter that still rises at the end, if values have risen along with it."""
    late = _late(place, 1 / 2)
    onward = _line(place[late], count[late])
    by_count = _line(count, value)
    if onward.rate.low <= 0 or ascent(value[np.argsort(count, kind="stable")]) <= 5:
        return None
    if not _moves(by_count, count, value, max(least, _MACHINE_WANDER)):
        return None
    return Law(Kind.COUNTER, by_count, True, False, _quality(value, count, by_count), onward)


def _growth(place: Floats, value: Floats, least: float) -> tuple[bool, Line]:
    """Whether values rise to the end, and the line along which they move; flat if they do not."""
    change = _change(value, least)
    moving = change.kept.copy()
    moving[: change.start] = moving[change.stop + 1 :] = False
    line = _line(place[moving], value[moving])
    # A weak but straight trend may be too little for the criterion, and still be sure.
    straight = change.form is Form.FLAT and line.rate.sure(1.5)
    bent = change.form in (Form.LINE, Form.RAMP)
    if not (straight or bent) or not _moves(line, place[moving], value, least):
        return False, Line(float(np.median(value)), _ZERO)
    half, third = _late(place, 1 / 2), _late(place, 1 / 3)
    late, last = slope(place[half], value[half]), slope(place[third], value[third])
    lowest = max(late.low, last.low) if change.form is Form.RAMP else late.low
    return lowest > 0 and last.value > line.rate.value / 3 > 0, line


def _change(value: Floats, least: float) -> Change:
    """What the values do; a tenth of what is told at all is the least noise that is believed in."""
    scale = float(np.mean(np.abs(value))) or 1.0
    change = best_change(value / scale, max(least, 1e-3) / 10)
    return replace(change, curve=change.curve * scale)


def _late(place: Floats, share: float) -> slice:
    """The points in the last share of the steps, but at least a few."""
    begin = int(np.searchsorted(place, place[-1] - share * (place[-1] - place[0])))
    return slice(max(min(begin, len(place) - _FEWEST_POINTS - 1), 0), len(place))


def _line(across: Floats, up: Floats) -> Line:
    rate = slope(across, up)
    return Line(float(np.median(up - rate.value * across)), rate)


def _moves(line: Line, across: Floats, value: Floats, least: float) -> bool:
    """Whether a line's change from end to end is more than a share of the values."""
    return abs(line.rate.value) * float(np.ptp(across)) > least * float(np.median(np.abs(value)))


def _quality(value: Floats, across: Floats, line: Line) -> float:
    """The share of the values' absolute deviations that a line takes off."""
    all_of_it = float(np.sum(np.abs(value - np.median(value))))
    left = float(np.sum(np.abs(value - line.level - line.rate.value * across)))
    return max(0.0, 1 - left / all_of_it) if all_of_it > 0 else 0.0


def levels_off(
    values: npt.ArrayLike, steps: npt.ArrayLike | None = None, least: float = 0.01
) -> bool:
    """Whether a curve rises and then settles: an allocator warming up, a buffer that fills."""
    series = np.asarray(values, dtype=float)
    value, place = _finite(series, np.arange(len(series)) if steps is None else steps)
    value, place = block_middles(value, _BLOCKS), block_means(place, _BLOCKS)
    if len(value) < 2 * _FEWEST_POINTS or place[-1] <= place[0]:
        return False
    top = float(np.median(value[_late(place, 1 / 3)]))
    rise = top - float(value[0])
    noise = spread(np.diff(value)) / math.sqrt(2)
    if rise <= 4 * noise or rise <= least * abs(top):
        return False
    change = _change(value, least)
    if change.form in (Form.STEP, Form.RAMP) and change.stop < _HELD_SHARE * len(value):
        held = slope(place[change.stop :], value[change.stop :])
        mean = (change.after - change.before) / float(place[-1] - place[0])
        if held.value < mean / 3 and held.high < mean:
            return True
    half = _late(place, 1 / 2)
    late, run = slope(place[half], value[half]), float(place[-1] - place[half][0])
    return late.value * run < _SETTLED * rise and late.high * run < rise / 2


@dataclass(frozen=True, slots=True)
class Follows:
    """The share of a series' variance, by ranks, that a counter explains; what one unit costs."""

    share: float
    slope: Slope


def changed_with(values: npt.ArrayLike, counter: npt.ArrayLike) -> Follows:
    """Spearman's correlation, squared, and the robust slope of values over the counter."""
    value, count = _finite(values, counter)
    if len(value) < _FEWEST_POINTS:
        return Follows(0.0, _NOTHING)
    ranks = [_ranks(value), _ranks(count)]
    spreads = [float(rank.std()) for rank in ranks]
    if min(spreads) <= 0:
        return Follows(0.0, _NOTHING)
    together = float(np.mean((ranks[0] - ranks[0].mean()) * (ranks[1] - ranks[1].mean())))
    return Follows(min((together / spreads[0] / spreads[1]) ** 2, 1.0), slope(count, value))


def _ranks(values: Floats) -> Floats:
    """Ranks from 0, equal values sharing their mean rank."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(sizes)
    shared: Floats = (ends - (sizes + 1) / 2)[group]
    return shared


def bootstrap_ratio(
    before: npt.ArrayLike, after: npt.ArrayLike, rng_seed: int = 0, paired: bool = False
) -> tuple[float, float, float]:
    """How many times as long `before` takes as `after`, with its 95 % interval, from a few trials
    of each.

    The ratio is the median of all ratios (paired: of all geometric means of two pairs' ratios).
    Resampling gives its standard error, Student's distribution the interval: so few trials do not
    reach its tails.
    """
    if paired:
        old, new = _finite(before, after)
        usable = (old > 0) & (new > 0)
        old, new = np.log(old[usable]), np.log(new[usable])
    else:
        old, new = (np.log(trials[trials > 0]) for (trials,) in (_finite(before), _finite(after)))
    fewest = min(len(old), len(new))
    if not fewest:
        return 1.0, 0.0, math.inf
    centre = _shift(old[None], new[None], paired)[0]
    if fewest < (3 if paired else 2):
        return math.exp(centre), 0.0, math.inf
    rng = np.random.default_rng(rng_seed)
    pick = rng.integers(0, len(old), (_RESAMPLED, len(old)))
    other = pick if paired else rng.integers(0, len(new), (_RESAMPLED, len(new)))
    error = float(_shift(old[pick], new[other], paired).std()) * math.sqrt(fewest / (fewest - 1))
    freedom = fewest - 1 if paired else len(old) + len(new) - 2
    reach = student(freedom) * error
    return math.exp(centre), math.exp(centre - reach), math.exp(centre + reach)


def _shift(old: Floats, new: Floats, paired: bool) -> Floats:
    """Hodges and Lehmann's shift between the rows of two tables of logarithms."""
    if paired:
        gap = old - new
        first, second = np.triu_indices(gap.shape[1])
        return np.asarray(np.median((gap[:, first] + gap[:, second]) / 2, axis=1))
    return np.asarray(np.median((old[:, :, None] - new[:, None, :]).reshape(len(old), -1), axis=1))
