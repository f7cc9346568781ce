"""Growth laws: how fast a quantity grows, with what, whether it goes on, and where it leads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse.robust import autocorrelation, block_means, block_middles, clipped

if TYPE_CHECKING:
    import numpy.typing as npt

    from unslow.model import Floats

_BLOCKS = 64  # 2 016 pairs
_Z = 1.96


@dataclass(frozen=True, slots=True)
class Slope:
    """What y gains per unit of x, with its 95 % interval; infinite where there are too few points to say."""

    value: float
    low: float
    high: float


def slope(x: npt.ArrayLike, y: npt.ArrayLike) -> Slope:
    """Theil and Sen's slope of block middles, its interval widened by the autocorrelation of what it leaves."""
    across, up = _blocks(x, y)
    first, second = np.triu_indices(len(across), 1)
    run = across[second] - across[first]
    apart = run > 0
    slopes = np.sort((up[second] - up[first])[apart] / run[apart])
    if not len(slopes):
        return Slope(0.0, -math.inf, math.inf)
    value = float(np.median(slopes))
    if len(across) < 4:
        return Slope(value, -math.inf, math.inf)
    rest = up - value * across
    rest = clipped(rest - np.median(rest), 0.0)
    rho = autocorrelation(rest - rest.mean(), 2)
    inflation = (1 + rho) / (1 - rho)
    size = len(across)
    freedom = max(size / inflation - 2, 2.0)
    quantile = _Z * (1 + (_Z * _Z + 1) / (4 * freedom))  # Student's, first term of its expansion
    reach = quantile * math.sqrt(size * (size - 1) * (2 * size + 5) / 18 * inflation)
    low = max(int((len(slopes) - reach) / 2) - 1, 0)
    return Slope(value, float(slopes[low]), float(slopes[len(slopes) - 1 - low]))


def _blocks(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Middles of blocks in order of x: in time where x is time, at random in time where x is."""
    across, up = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    finite = np.isfinite(across) & np.isfinite(up)
    across, up = across[finite], up[finite]
    if np.any(np.diff(across) < 0):
        order = np.argsort(across, kind="stable")
        across, up = across[order], up[order]
    return block_means(across, _BLOCKS), block_middles(up, _BLOCKS)
