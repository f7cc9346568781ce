"""How step time behaves over a loop: steady, drifting, jumped or periodic; a pure function of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unslow.model import Shape, Trend

if TYPE_CHECKING:
    import numpy.typing as npt

FEWEST = 20  # rows below which nothing is said


def trend_of(seconds: npt.ArrayLike, count: npt.ArrayLike | None = None) -> Trend:
    """The trend of step times in order; a row may stand for `count` merged steps."""
    rows = np.asarray(seconds, dtype=float)
    weights = np.ones(len(rows)) if count is None else np.asarray(count, dtype=float)
    if len(rows) < FEWEST:
        typical = float(np.median(rows)) if len(rows) else 0.0
        return Trend(Shape.UNKNOWN, typical, typical)
    rows, weights = rows[5:], weights[5:]
    blocks = [float(np.median(part)) for part in np.array_split(rows, 10)]
    before, after = float(np.median(blocks[:3])), float(np.median(blocks[-3:]))
    if before <= 0 or abs(after / before - 1) < 0.05 or abs(after - before) < 4 * np.std(np.diff(blocks)):
        typical = float(np.median(rows))
        return Trend(Shape.STEADY, typical, typical)
    slope = (after - before) / float(weights.sum()) / 0.7
    return Trend(Shape.DRIFTING, before, after, slope, slope, slope)
