"""Whether runs in turn show a regression: decided by pairs, so that noise rarely does."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

import numpy as np

from unslow.analyse.stats.pairs import chance_of_larger, middle

# A decision is made at these numbers of pairs only: every further one is another chance for
# noise. A quiet machine needs 10 to 14; the later ones are for machines with other work to do.
CHECKPOINTS = (10, 14, 20, 28, 40, 56, 80)
# Chance at a checkpoint to take noise for a regression. All together stay below 1 in 100: simulated
# over recorded noise, see docs/ci-noise.md. With fewer than ten pairs no test can reach it.
_LEVEL = 0.0015
# A slowdown by this much more than the limit is what is promised to be found. Where it can be ruled
# out, the trials end.
MARGIN = 0.03
_LEVEL_OF_FINE = 0.004  # chance at a checkpoint to end the trials of such a slowdown


class Decision(enum.Enum):
    REGRESSED = "surely slower than allowed"
    FINE = "no regression"
    OPEN = "cannot be told"


def decide(before: Sequence[float], after: Sequence[float], limit: float) -> Decision:
    """Judge seconds per step of pairs of trials, which both met the same machine.

    A regression is surely slower at all, and slower by more than the limit in the median. A test of
    ranks is not misled by one burst of other work.
    """
    slowdown = np.log(np.asarray(after, dtype=float) / np.asarray(before, dtype=float))
    if middle(slowdown) > math.log1p(limit) and chance_of_larger(slowdown) <= _LEVEL:
        return Decision.REGRESSED
    if chance_of_larger(math.log1p(limit + MARGIN) - slowdown) <= _LEVEL_OF_FINE:
        return Decision.FINE
    return Decision.OPEN


def is_decided(before: Sequence[float], after: Sequence[float], limit: float) -> bool:
    """Whether more pairs are not needed."""
    return len(before) in CHECKPOINTS and decide(before, after, limit) is not Decision.OPEN
