"""Whether runs in turn show a regression, decided pair by pair so that noise alone is rarely enough."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

import numpy as np

# A decision is looked for at these numbers of pairs only: every further look is another chance for
# noise. With fewer than eight pairs the test below cannot reach its level.
LOOKS = (8, 12, 16, 20)
# Chance of a look to take noise for a regression. Four looks stay below 1 in 100 together:
# simulated over recorded noise, see docs/ci-noise.md.
_LEVEL = 0.004
# The same for "it is not slower than allowed", which only ends the trials sooner.
_LEVEL_OF_FINE = 0.05


class Decision(enum.Enum):
    REGRESSED = "surely slower than allowed"
    FINE = "not slower than allowed"
    OPEN = "cannot be told"


def decide(before: Sequence[float], after: Sequence[float], limit: float) -> Decision:
    """Judge seconds per step of pairs of trials, run one after the other.

    A regression is surely slower at all, and slower by more than the limit in the median. Both
    trials of a pair saw the same machine, and a test of ranks is not misled by one burst of other
    work.
    """
    slowdown = np.log(np.asarray(after, dtype=float) / np.asarray(before, dtype=float))
    allowed = math.log1p(limit)
    estimate = _middle(slowdown)
    if estimate > allowed and _chance(slowdown) <= _LEVEL:
        return Decision.REGRESSED
    if estimate <= 0 or _chance(allowed - slowdown) <= _LEVEL_OF_FINE:
        return Decision.FINE
    return Decision.OPEN


def is_decided(before: Sequence[float], after: Sequence[float], limit: float) -> bool:
    """Whether more pairs are not needed."""
    return len(before) in LOOKS and decide(before, after, limit) is not Decision.OPEN


def _middle(values: np.ndarray) -> float:
    """Hodges and Lehmann's median: of the means of all pairs of values."""
    first, second = np.triu_indices(len(values))
    return float(np.median((values[first] + values[second]) / 2))


def _chance(values: np.ndarray) -> float:
    """Wilcoxon's signed-rank test: the chance of such large positive values if the median were 0."""
    sizes = np.abs(values)
    ranks = sizes.argsort().argsort() + 1
    observed = int(ranks[values > 0].sum())
    counts = np.zeros(int(ranks.sum()) + 1)
    counts[0] = 1.0
    for rank in ranks:
        shifted = np.zeros_like(counts)
        shifted[rank:] = counts[: len(counts) - rank]
        counts = counts + shifted
    return float(counts[observed:].sum() / 2.0 ** len(values))
