"""How step time behaves over a loop: steady, drifting, jumped or periodic."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse.stats.changepoints import Change, Form, best_change
from unslow.analyse.stats.growth import slope
from unslow.analyse.stats.periodic import Beat, find_beat
from unslow.analyse.stats.robust import (
    ascent,
    block_means,
    block_middles,
    block_width,
    median_of,
    spread,
)
from unslow.model import Shape, Trend

if TYPE_CHECKING:
    import numpy.typing as npt

    from unslow.model import Floats

FEWEST = 20  # rows below which nothing is said
LEAST = 0.05  # a smaller change from end to end is steady
_BLOCKS = 48  # enough to place a step, few enough that each block's middle is calm
# Rows in which a period is looked for; it keeps the time of very long runs in bounds.
_LOOKED = 20_000
# how many times as long a step must be at last as at first, where only the order of the blocks
# tells
_CLIMB = 1.3
_HELD = 0.1  # seconds: a level that is held for less, at an end, is a disturbance of the machine
_NOISE = 0.01  # step times are never believed to be more regular than this share of themselves


def trend_of(seconds: npt.ArrayLike, count: npt.ArrayLike | None = None) -> Trend:
    """The trend of step times in order; a row may stand for `count` merged steps."""
    rows, first, width = _rows(seconds, count)
    if len(rows) < FEWEST:
        return _unknown(rows)
    warm = _warm_up(rows)
    rows, first, width = _equal(rows[warm:], first[warm:], width[warm:])
    if len(rows) < FEWEST // 2:
        return _unknown(rows)
    beat = find_beat(rows[:_LOOKED])
    if beat is None:
        return _moved(rows, first)[0]
    long = np.zeros(len(rows), dtype=bool)
    long[: len(beat.rows)] = beat.rows
    moved, extra = _moved(rows[~long], first[~long])
    if extra * len(beat.rows) >= beat.excess:
        return moved
    climbing, extra = _of_periods(rows, first, beat)
    # A quarter: long rows that have grown to twice their length are told as growing before as
    # recurring.
    if extra * len(beat.rows) >= beat.excess / 4:
        return climbing
    period = max(1, round(beat.period * float(np.median(width))))
    return Trend(Shape.PERIODIC, moved.before, moved.after, period=period, spike=beat.spike)


def _unknown(rows: Floats) -> Trend:
    typical = median_of(rows[1:] if len(rows) > 1 else rows)
    return Trend(Shape.UNKNOWN, typical, typical)


def _of_periods(rows: Floats, first: Floats, beat: Beat) -> tuple[Trend, float]:
    """The trend of whole periods' means: what drifts may be the long rows, not the others."""
    periods = len(rows) // beat.period
    whole = periods * beat.period
    if periods < FEWEST:
        return Trend(Shape.STEADY, 0.0, 0.0), 0.0
    return _moved(rows[:whole].reshape(periods, -1).mean(axis=1), first[: whole : beat.period])


def _rows(seconds: npt.ArrayLike, count: npt.ArrayLike | None) -> tuple[Floats, Floats, Floats]:
    """Usable rows: seconds, the number of their first step (from 1), and steps in each."""
    rows = np.asarray(seconds, dtype=float)
    width = np.ones(len(rows)) if count is None else np.asarray(count, dtype=float)
    first = np.cumsum(width) - width + 1
    usable = np.isfinite(rows) & (width > 0)
    return rows[usable], first[usable], width[usable]


def _warm_up(rows: Floats) -> int:
    """Rows of warm-up: the first, and all up to the last long one of the first few."""
    look = min(10, len(rows) // 4)
    usual = rows[look : look + 50]
    limit = 1.2 * float(np.median(usual)) + 4 * spread(usual)
    long = np.flatnonzero(rows[:look] > limit)
    return 1 + int(long[-1]) if len(long) else 1


def _equal(rows: Floats, first: Floats, width: Floats) -> tuple[Floats, Floats, Floats]:
    """Rows of one width: only a mean of many steps holds its share of spikes."""
    target = min(width.max(), width.sum() / (2 * _BLOCKS))
    if width.min() >= target:
        return rows, first, width
    group = ((first - first[0]) // target).astype(np.int64)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    steps = np.add.reduceat(width, starts)
    return np.add.reduceat(rows * width, starts) / steps, first[starts], steps


def _moved(rows: Floats, place: Floats) -> tuple[Trend, float]:
    """What rows do, by their blocks, and the mean seconds per row above the better end."""
    blocks = block_middles(rows, _BLOCKS)
    typical = float(np.median(blocks))
    steady = Trend(Shape.STEADY, typical, typical)
    scale = float(np.mean(np.abs(blocks)))
    if scale <= 0:
        return steady, 0.0
    change = best_change(blocks / scale, _NOISE)
    change = replace(change, curve=change.curve * scale)
    least = LEAST * min(change.before, change.after)
    if change.form is Form.FLAT and _climbs(blocks):
        along = np.arange(float(len(blocks)))
        curve = slope(along, blocks).value * along
        change = Change(
            Form.LINE, curve + float(np.median(blocks - curve)), 0, len(blocks) - 1, change.kept
        )
    if change.form is Form.FLAT or abs(change.after - change.before) < least:
        return steady, 0.0
    extra = float(np.mean(change.curve - change.curve.min()))
    if change.form is Form.STEP:
        jump, held = _jump(rows, place, change)
        return (jump, extra) if held >= _HELD else (steady, 0.0)
    return _drift(blocks, block_means(place, _BLOCKS), change), extra


def _climbs(blocks: Floats) -> bool:
    """Whether blocks go far in one direction though they wander so much that no curve fits them."""
    third = len(blocks) // 3
    ends = sorted((float(np.median(blocks[:third])), float(np.median(blocks[-third:]))))
    return abs(ascent(blocks)) > 5 and ends[1] > _CLIMB * ends[0]


def _drift(blocks: Floats, place: Floats, change: Change) -> Trend:
    """A drift; its slope is taken where it drifts, which need not be all of the run."""
    moving = change.kept.copy()
    moving[: change.start] = moving[change.stop + 1 :] = False
    rate = slope(place[moving], blocks[moving])
    blocks, curve = blocks[change.kept], change.curve[change.kept]
    before, after = _end(blocks, curve), _end(blocks[::-1], curve[::-1])
    return Trend(Shape.DRIFTING, before, after, rate.value, rate.low, rate.high)


def _end(blocks: Floats, curve: Floats) -> float:
    """The level at the first block: the curve's, unless the blocks clearly bend away from it."""
    near = max(3, len(blocks) // 12)
    rest = blocks - curve
    off = float(np.median(rest[:near]))
    clear = abs(off) > 3 * spread(np.diff(rest)) / np.sqrt(2 * near)
    return float(np.clip(curve[0] + off * clear, blocks.min(), blocks.max()))


def _jump(rows: Floats, place: Floats, change: Change) -> tuple[Trend, float]:
    """A jump, and for how many seconds the shorter of its levels is held.

    It is placed to the row: within two blocks, where the two levels leave the least absolute error.
    """
    width = block_width(len(rows), _BLOCKS)
    begin, end = max((change.stop - 2) * width, 1), min((change.stop + 2) * width, len(rows) - 1)
    near = rows[begin:end]
    error = np.cumsum(np.abs(near - change.before) - np.abs(near - change.after))
    at = begin + 1 + int(np.argmin(error))
    before, after = float(np.median(rows[:at])), float(np.median(rows[at:]))
    spent = rows * np.gradient(place)
    return Trend(Shape.JUMPED, before, after, at_step=int(place[at])), float(
        min(spent[:at].sum(), spent[at:].sum())
    )
