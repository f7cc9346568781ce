"""Whether one side is faster: verdicts that noise alone cannot reach."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unslow.analyse.stats.growth import bootstrap_ratio
from unslow.model import Verdict
from unslow.proof.measures import ENOUGH_TO_STOP
from unslow.proof.question import PAIRS

# Between the nearest two trials. Simulated: with less, a busy machine proves a script against
# itself.
_CLEAR = 1.5
# After two pairs. Simulated with levels that differ by 8 % to 60 % between processes: a script
# against itself is as seldom that far apart in two pairs as 1.5 times in three (0.9 % at 60 %).
_CLEAR_OF_TWO = 2.5
_FASTER = 1.10  # a smaller gain is not worth changing somebody's code (judgement)


def is_clear(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether more trials would not change the answer: by the nearest two, and by the interval."""
    if len(before) < 2:
        return False
    clear = _CLEAR if len(before) >= ENOUGH_TO_STOP else _CLEAR_OF_TWO
    _, low, high = bootstrap_ratio(before, after)
    surely_faster = low > 1.0 and min(before) >= clear * max(after)
    surely_slower = high < 1.0 and min(after) >= clear * max(before)
    return surely_faster or surely_slower


def paired_verdict(low: float, high: float) -> Verdict:
    """Of pairs that took turns, by their interval: each small difference counts there."""
    if low > 1.0:
        return Verdict.PROVED
    if high < 1.0:
        return Verdict.SLOWER
    is_narrow = low > 1 / _FASTER and high < _FASTER
    return Verdict.NO_EFFECT if is_narrow else Verdict.UNSURE


def speed_verdict(before: Sequence[float], after: Sequence[float]) -> Verdict:
    ratio, low, high = bootstrap_ratio(before, after)
    if ratio >= _FASTER and low > 1.0 and _apart(before, after):
        return Verdict.PROVED
    if ratio <= 1 / _FASTER and high < 1.0 and _apart(after, before):
        return Verdict.SLOWER
    if _every_pair_wins(before, after):
        return Verdict.PROVED
    if _every_pair_wins(after, before):
        return Verdict.SLOWER
    is_narrow = low > 1 / _FASTER and high < _FASTER
    return Verdict.NO_EFFECT if is_narrow else Verdict.UNSURE


def _every_pair_wins(slow: Sequence[float], fast: Sequence[float]) -> bool:
    """On a machine whose speed wanders, only the two trials of a pair can be compared.

    Each fast one must beat the slow one beside it, and half of them by a clear gain.
    """
    ratios = np.array(slow) / np.array(fast)
    enough = len(ratios) >= PAIRS
    return bool(enough and ratios.min() >= _FASTER and np.median(ratios) >= _CLEAR)


def interval(before: Sequence[float], after: Sequence[float]) -> tuple[float, float, float]:
    """The ratio with its interval; of the pairs where these decided."""
    ratio, low, high = bootstrap_ratio(before, after)
    if low <= 1.0 <= high and (_every_pair_wins(before, after) or _every_pair_wins(after, before)):
        ratios = np.array(before) / np.array(after)
        return float(np.median(ratios)), float(ratios.min()), float(ratios.max())
    return ratio, low, high


def _apart(slow: Sequence[float], fast: Sequence[float]) -> bool:
    """With few trials a bootstrap is sure too soon: every fast one must beat every slow one, too.

    Of five and five, one pair may be reversed: one burst of other work does that. A script against
    itself then comes out as faster or slower in fewer than 1 of 100 proofs (simulated, on machines
    whose speed wanders).
    """
    reversed_pairs = sum(quick >= late for late in slow for quick in fast)
    return reversed_pairs <= (1 if min(len(slow), len(fast)) >= PAIRS else 0)
