"""What pairs of measurements under the same conditions show: by ranks, of any distribution."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Of the two ends of an interval together: as rare as an alarm for nothing may be.
_OUTSIDE = 0.01
ENOUGH = 8  # pairs: with fewer there is no interval that is this sure


def middle(values: Floats) -> float:
    """Hodges and Lehmann's median: of the means of all pairs of values."""
    return float(np.median(_means(values)))


def chance_of_larger(values: Floats) -> float:
    """Wilcoxon's signed-rank test: the chance of values this large if the median were 0."""
    ranks = np.abs(values).argsort().argsort() + 1
    observed = int(ranks[values > 0].sum())
    return float(_upper_tail(len(values))[observed])


def interval(values: Floats) -> tuple[float, float]:
    """Between which two values the median lies in 99 of 100 cases, by the same test."""
    tail = _upper_tail(len(values))
    left_out = int((tail <= _OUTSIDE / 2).sum())
    means = np.sort(_means(values))
    cut = max(0, left_out - 1)
    return float(means[cut]), float(means[-1 - cut])


def speedup(before: npt.ArrayLike, after: npt.ArrayLike) -> tuple[float, float, float]:
    """How many times faster the second of each pair is, with its interval."""
    gains = np.log(np.asarray(before, dtype=float) / np.asarray(after, dtype=float))
    low, high = interval(gains)
    return float(np.exp(middle(gains))), float(np.exp(low)), float(np.exp(high))


def _means(values: Floats) -> Floats:
    first, second = np.triu_indices(len(values))
    means: Floats = (values[first] + values[second]) / 2
    return means


@lru_cache(maxsize=128)
def _upper_tail(count: int) -> Floats:
    """Of that many values: the chance that the positive ones' ranks sum to at least each number."""
    chances = np.ones(1)
    for rank in range(1, count + 1):
        without = np.pad(chances, (0, rank))
        with_it = np.pad(chances, (rank, 0))
        chances = (without + with_it) / 2
    tail: Floats = chances[::-1].cumsum()[::-1]
    return tail
