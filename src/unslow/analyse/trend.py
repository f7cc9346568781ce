"""How step time behaves over a loop: steady, drifting, jumped or periodic; a pure function of its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse.changepoints import Change, Form, best_change
from unslow.analyse.growth import slope
from unslow.analyse.periodic import find_beat
from unslow.analyse.robust import block_means, block_middles, block_width, spread
from unslow.model import Shape, Trend

if TYPE_CHECKING:
    import numpy.typing as npt

    from unslow.model import Floats

FEWEST = 20  # rows below which nothing is said
LEAST = 0.05  # a smaller change from end to end is steady
_BLOCKS = 48  # enough to place a step, few enough that each block's middle is calm
_LOOKED = 50_000  # rows in which a period is looked for; it keeps the time of very long runs in bounds
_NOISE = 0.01  # step times are never believed to be more regular than this share of themselves


def trend_of(seconds: npt.ArrayLike, count: npt.ArrayLike | None = None) -> Trend:
    """The trend of step times in order; a row may stand for `count` merged steps."""
    rows, first, width = _rows(seconds, count)
    if len(rows) < FEWEST:
        typical = float(np.median(rows[1:] if len(rows) > 1 else rows)) if len(rows) else 0.0
        return Trend(Shape.UNKNOWN, typical, typical)
    warm = _warm_up(rows)
    rows, first, width = _equal(rows[warm:], first[warm:], width[warm:])
    beat = find_beat(rows[:_LOOKED])
    long = np.zeros(len(rows), dtype=bool)
    if beat is not None:
        long[: len(beat.rows)] = beat.rows
    base, place = rows[~long], first[~long]
    change, moved = _change(base, place)
    if beat is None:
        return moved
    extra = float(np.mean(change.curve - change.curve.min())) * len(beat.rows)
    if moved.shape is not Shape.STEADY and extra >= beat.excess:
        return moved
    period = max(1, round(beat.period * float(np.median(width))))
    return Trend(Shape.PERIODIC, moved.before, moved.after, period=period, spike=beat.spike)


def _rows(seconds: npt.ArrayLike, count: npt.ArrayLike | None) -> tuple[Floats, Floats, Floats]:
    """Usable rows: seconds, the number of their first step (from 1), and how many steps they hold."""
    rows = np.asarray(seconds, dtype=float)
    width = np.ones(len(rows)) if count is None else np.asarray(count, dtype=float)
    first = np.cumsum(width) - width + 1
    usable = np.isfinite(rows) & (width > 0)
    return rows[usable], first[usable], width[usable]


def _warm_up(rows: Floats) -> int:
    """How many rows at the start are warm-up: the first, and all up to the last of the first few that is long."""
    look = min(10, len(rows) // 4)
    usual = rows[look : look + 50]
    limit = 1.2 * float(np.median(usual)) + 4 * spread(usual)
    long = np.flatnonzero(rows[:look] > limit)
    return 1 + int(long[-1]) if len(long) else 1


def _equal(rows: Floats, first: Floats, width: Floats) -> tuple[Floats, Floats, Floats]:
    """Rows of one width: a mean of many steps holds its share of spikes, a single step mostly none."""
    target = min(width.max(), width.sum() / (2 * _BLOCKS))
    if width.min() >= target:
        return rows, first, width
    group = ((first - first[0]) // target).astype(np.int64)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    steps = np.add.reduceat(width, starts)
    return np.add.reduceat(rows * width, starts) / steps, first[starts], steps


def _change(base: Floats, place: Floats) -> tuple[Change, Trend]:
    """What the rows do apart from long ones, by their blocks, and the trend that it stands for."""
    typical = float(np.median(base))
    steady = Trend(Shape.STEADY, typical, typical)
    blocks = block_middles(base, _BLOCKS)
    scale = float(np.mean(np.abs(blocks)))
    if scale <= 0:
        return Change(Form.FLAT, blocks, 0, len(blocks) - 1, blocks == 0), steady
    change = best_change(blocks / scale, _NOISE)
    change = replace(change, curve=change.curve * scale)
    least = LEAST * min(change.before, change.after)
    if change.form is Form.FLAT or abs(change.after - change.before) < least:
        return change, steady
    if change.form is Form.STEP:
        return change, _jump(base, place, change)
    return change, _drift(blocks, block_means(place, _BLOCKS), change)


def _drift(blocks: Floats, place: Floats, change: Change) -> Trend:
    """A drift; its slope is taken where it drifts, which need not be all of the run."""
    moving = change.kept.copy()
    moving[: change.start] = moving[change.stop + 1 :] = False
    rate = slope(place[moving], blocks[moving])
    blocks, curve = blocks[change.kept], change.curve[change.kept]
    before, after = _end(blocks, curve), _end(blocks[::-1], curve[::-1])
    return Trend(Shape.DRIFTING, before, after, rate.value, rate.low, rate.high)


def _end(blocks: Floats, curve: Floats) -> float:
    """The level at the first block: the curve's, unless the blocks there clearly bend away from it."""
    near = max(3, len(blocks) // 12)
    rest = blocks - curve
    off = float(np.median(rest[:near]))
    clear = abs(off) > 3 * spread(np.diff(rest)) / np.sqrt(2 * near)
    return float(np.clip(curve[0] + off * clear, blocks.min(), blocks.max()))


def _jump(base: Floats, place: Floats, change: Change) -> Trend:
    """A jump, placed to the row: within two blocks, where the two levels leave the least absolute error."""
    width = block_width(len(base), _BLOCKS)
    begin, end = max((change.stop - 2) * width, 1), min((change.stop + 2) * width, len(base) - 1)
    near = base[begin:end]
    error = np.cumsum(np.abs(near - change.before) - np.abs(near - change.after))
    at = begin + 1 + int(np.argmin(error))
    before, after = float(np.median(base[:at])), float(np.median(base[at:]))
    return Trend(Shape.JUMPED, before, after, at_step=int(place[at]))
