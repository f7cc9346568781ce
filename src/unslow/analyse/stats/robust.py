"""Statistics that a few outliers cannot move: middles of blocks, scales, autocorrelation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from unslow.model import Floats

# A normal distribution's standard deviation in units of its median absolute deviation.
_SIGMA = 1.4826


def _middle(rows: Floats) -> Floats:
    """The mean of the middle half of each row: robust, and smooth where values have two modes."""
    width = rows.shape[-1]
    trim = max(1, width // 4) if width > 2 else 0
    inner = np.partition(rows, (trim, width - 1 - trim), axis=-1)[..., trim : width - trim]
    middles: Floats = inner.mean(axis=-1)
    return middles


def block_width(size: int, most: int) -> int:
    """How long stretches of a series are, if there may be at most so many of them."""
    return max(1, -(-size // most))


def block_middles(values: Floats, most: int) -> Floats:
    """Middles of at most `most` consecutive stretches; what is left over goes to the last."""
    width = block_width(len(values), most)
    if width < 2:
        return np.array(values)
    cut = width * (len(values) // width - 1)
    return np.append(_middle(values[:cut].reshape(-1, width)), _middle(values[cut:]))


def block_means(values: Floats, most: int) -> Floats:
    """Means of the stretches that `block_middles` takes."""
    width = block_width(len(values), most)
    if width < 2:
        return np.array(values)
    cut = width * (len(values) // width - 1)
    return np.append(values[:cut].reshape(-1, width).mean(axis=1), values[cut:].mean())


def median_of(values: Floats) -> float:
    """The median; 0 where there are no values."""
    return float(np.median(values)) if len(values) else 0.0


def ratio(part: float, whole: float) -> float:
    """A part of a whole; 0 where there is nothing to divide by."""
    return part / whole if whole > 0 else 0.0


def spread(values: Floats) -> float:
    """A standard deviation from the median absolute deviation."""
    if not len(values):
        return 0.0
    return _SIGMA * float(np.median(np.abs(values - np.median(values))))


def running_median(values: Floats, reach: int) -> Floats:
    """The median of each value and `reach` neighbours on either side; ends are repeated."""
    padded = np.pad(values, reach, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1)
    middles: Floats = np.median(windows, axis=1)
    return middles


def clipped(values: Floats, least: float) -> Floats:
    """Values limited to three sigmas from their neighbours' median; edges stay."""
    middle = running_median(values, 2)
    # The upper quartile, not the median: where values have two modes, the rarer one is no outlier.
    sigma = float(np.quantile(np.abs(values - middle), 0.75)) / 1.15
    limit = 3 * max(sigma, least)
    return np.clip(values, middle - limit, middle + limit)


def autocorrelation(residuals: Floats, fitted: int) -> float:
    """Lag-one autocorrelation, corrected for bias, plus half a standard error."""
    size = len(residuals)
    power = float(residuals @ residuals)
    if size < 4 or power <= 0:
        return 0.0
    raw = float(residuals[1:] @ residuals[:-1]) / power
    raw += (fitted * (1 + raw) + 2 * raw) / size
    error = float(np.sqrt(max(1 - raw * raw, 0.0) / size))
    return min(max(raw + error / 2, 0.0), 0.9)


def ascent(values: Floats) -> float:
    """Kendall's test of whether later values are higher, in its standard deviations."""
    size = len(values)
    pairs = np.sign(values[None, :] - values[:, None])[np.triu_indices(size, 1)]
    return float(pairs.sum()) / max(float(np.sqrt(size * (size - 1) * (2 * size + 5) / 18)), 1.0)


def student(freedom: float) -> float:
    """The 97.5 % quantile of Student's distribution, by its expansion around the normal one."""
    z, part = 1.96, 1 / max(freedom, 2.0)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + part * (first + part * (second + part * third))
