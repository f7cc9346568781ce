"""A ratio with its 99 % interval, from few rounds: so strict because every claim is looked at up to four times."""

from __future__ import annotations

import math
from collections.abc import Sequence

from unslow.analyse.stats.growth import bootstrap_ratio
from unslow.analyse.stats.robust import student

ROUND_BY_ROUND = 5  # rounds from which on the ratios of single rounds tell more than they lose in degrees of freedom
_FEWEST = {
    1: 63.657,
    2: 9.925,
    3: 5.841,
}  # Student's 99.5 % quantiles that the expansion below misses


def ratio_of(
    larger: Sequence[float], smaller: Sequence[float], one_process: bool
) -> tuple[float, float, float]:
    """How many times as large one number is as another, and the ends of the interval.

    Two numbers of one process share its luck, and two processes of one round what else the machine did meanwhile. A
    side that other claims asked for more often has further rounds, which have no partner here.
    """
    rounds = min(len(larger), len(smaller))
    paired = one_process or rounds >= ROUND_BY_ROUND
    if paired:
        larger, smaller = larger[:rounds], smaller[:rounds]
    ratio, low, high = bootstrap_ratio(larger, smaller, paired=paired)
    if low <= 0 or not math.isfinite(high):
        return ratio, low, high
    freedom = rounds - 1 if paired else len(larger) + len(smaller) - 2
    reach = math.log(high / ratio) * _strict(freedom) / student(freedom)
    return ratio, ratio * math.exp(-reach), ratio * math.exp(reach)


def _strict(freedom: int) -> float:
    """The 99.5 % quantile of Student's distribution, by its expansion around the normal one."""
    if freedom in _FEWEST:
        return _FEWEST[freedom]
    z, part = 2.5758, 1 / freedom
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + part * (first + part * (second + part * third))
