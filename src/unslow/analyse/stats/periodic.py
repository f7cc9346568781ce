"""Long steps that recur: their period, what one takes, and which rows they are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from unslow.model import Floats, Ints

_FEWEST_LONG_ROWS = 4  # three equal gaps: with fewer, chance makes a period too often
_CHANCE = 0.01  # how likely chance may be, over all periods that were tried
_LEAST_SHARE = 0.01  # share of all seconds that long rows must take to be told
_COVERED_SLOTS = 0.75  # share of its slots in which a period must have a long row


@dataclass(frozen=True, slots=True)
class Beat:
    """Rows that are long at regular distances."""

    period: int  # in rows
    spike: float  # typical seconds of a long row
    excess: float  # seconds above the level, summed over the long rows
    rows: npt.NDArray[np.bool_]


def _level(rows: Floats) -> Floats:
    """The usual seconds around each row: a low quantile, since half of the rows may be long."""
    blocks = max(1, min(48, len(rows) // 20))
    width = len(rows) // blocks
    low = np.quantile(rows[: blocks * width].reshape(blocks, width), 0.3, axis=1)
    if blocks < 3:
        return np.full(len(rows), low.min())
    centre = (np.arange(blocks) + 0.5) * width
    # Straight on beyond the outer centres, so that a drift does not make the last rows look long.
    low = np.concatenate([[2 * low[0] - low[1]], low, [2 * low[-1] - low[-2]]])
    centre = np.concatenate([[centre[0] - width], centre, [centre[-1] + width]])
    return np.maximum(np.interp(np.arange(len(rows)), centre, low), 0.0)


def _unlikely(hits: int, tries: int, rate: float, periods: int) -> bool:
    """Whether chance is too unlikely to give `hits` of `tries` (Chernoff's bound)."""
    share = hits / tries
    if share <= rate:
        return False
    rest = (1 - share) * math.log((1 - share) / (1 - rate)) if share < 1 else 0.0
    return -tries * (share * math.log(share / rate) + rest) + math.log(periods) < math.log(_CHANCE)


def _period(starts: Ints, size: int) -> tuple[int, int] | None:
    """The distance between events and its tolerance; a strict rhythm before a loose one."""
    single, double = np.diff(starts), starts[2:] - starts[:-2]
    seen = np.concatenate(
        [np.argsort(-np.bincount(gaps), kind="stable")[:3] for gaps in (single, double)]
    )
    periods = sorted({int(gap) for gap in seen if gap > 1} | {int(np.median(single))})
    before = np.concatenate([[0], np.cumsum(np.bincount(starts, minlength=size))])
    for share in (0.0, 0.1):
        for period in periods:
            slack = int(share * period)
            first = starts[starts + period + slack < size]
            slots = (starts[-1] - starts[0]) / period
            if min(len(first), slots) < _FEWEST_LONG_ROWS - 1:
                continue
            near = before[first + period + slack + 1] - before[first + period - slack]
            hits = int(np.count_nonzero(near))
            rate = min(1 - (1 - len(starts) / size) ** (2 * slack + 1), 1 - 1e-9)
            if hits >= _COVERED_SLOTS * slots and _unlikely(hits, len(first), rate, size // 2):
                return period, slack
    return None


def _linked(starts: Ints, period: int, slack: int) -> tuple[npt.NDArray[np.bool_], int]:
    """Which events have another one a period away on either side, and the usual distance."""
    after = np.searchsorted(starts, starts + period - slack)
    follows = (after < len(starts)) & (
        starts[np.minimum(after, len(starts) - 1)] <= starts + period + slack
    )
    linked = follows.copy()
    linked[after[follows]] = True
    return linked, int(np.median(starts[after[follows]] - starts[follows]))


def _beat(rows: Floats, level: Floats, long: npt.NDArray[np.bool_]) -> Beat | None:
    events = np.flatnonzero(long)
    fresh = np.diff(events, prepend=-2) > 1  # neighbours are one long stretch
    starts = events[fresh]
    if len(starts) < _FEWEST_LONG_ROWS or len(events) > 0.55 * len(rows):
        return None
    found = _period(starts, len(rows))
    if found is None:
        return None
    linked, period = _linked(starts, *found)
    mine = events[linked[np.cumsum(fresh) - 1]]
    picked = np.zeros(len(rows), dtype=bool)
    picked[mine] = True
    excess = float(np.median(rows[mine] - level[mine])) * len(mine)
    return Beat(period, float(np.median(rows[mine])), excess, picked)


def find_beat(rows: Floats) -> Beat | None:
    """The regular long rows that take most time, among all long rows, then among longer ones."""
    level = _level(rows)
    scale = float(np.mean(rows))
    if scale <= 0:
        return None
    above = rows / np.maximum(level, 1e-3 * scale) - 1
    usual, low = np.quantile(above, [0.3, 0.05])
    tier = max(0.5, 5 * float(usual - low))
    best: Beat | None = None
    seen = 0
    while (count := int(np.count_nonzero(long := above > tier))) >= _FEWEST_LONG_ROWS:
        tier *= 2
        if count == seen:
            continue
        seen = count
        beat = _beat(rows, level, long)
        if beat is not None and (best is None or beat.excess > best.excess):
            best = beat
    return best if best is not None and best.excess >= _LEAST_SHARE * scale * len(rows) else None
