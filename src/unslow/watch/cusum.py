"""Page's CUSUM: what speaks for a slow-down by one measure, added up block by block.

Each block adds the logarithm of how much likelier it is under a training slower by the stated share
than under the training as it was; the sum never falls below zero. For independent blocks the mean
time to a false alarm is at least exp(threshold) blocks (Lorden 1971), whatever the noise is. Blocks
are not quite independent: `History.noise` accounts for that, and `make watch-bench` measures what
is left.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from unslow.watch.blocks import BLOCK
from unslow.watch.history import History

_MEASURES = 2  # tests side by side: by the wall, and by processor time
_RARE = 365 * 86_400 / BLOCK  # blocks between two false alarms: a year
THRESHOLD = math.log(_MEASURES * _RARE)
_SHORTEST = 7  # blocks that a slow-down must last: what passes within 35 s is a disturbance
# Of the share, this much must be there in the median of the slow blocks: with noise, half of the
# medians are below the share. What is known already must have doubled whatever the noise is.
_SURE = 0.8
_RECOVERED_IN = 24  # blocks whose median shows that a slow-down is over: two minutes


@dataclass(frozen=True, slots=True)
class Change:
    """How much longer steps take, as a logarithm, and since when."""

    since: float
    excess: float


def gain(excess: float, wanted: float, past: History) -> float:
    """The logarithm of the likelihood ratio of one block, so that no few blocks decide."""
    ratio = wanted / past.noise**2 * (excess - wanted / 2)
    most = THRESHOLD / _SHORTEST
    return max(-most, min(most, ratio))


@dataclass(slots=True)
class Cusum:
    """Excesses over the past in, at most one `Change` per slow-down out; all are logarithms."""

    reported: float = 0.0  # how much slower it is already known to be
    evidence: float = 0.0
    _slow: deque[Change] = field(default_factory=lambda: deque(maxlen=512))
    _recent: deque[float] = field(default_factory=lambda: deque(maxlen=_RECOVERED_IN))
    _settling: bool = False

    def wanted(self, share: float) -> float:
        """What must be added: the share at first, then as much again as is known already."""
        return max(math.log1p(share), self.reported)

    def settle(self) -> None:
        """Another measure has reported: what this one shows next is part of the same matter."""
        self._restart()
        self._settling = True

    def add(self, block: Change, gained: float, wanted: float) -> Change | None:
        self._recent.append(block.excess)
        if self._settling:
            self._settle()
            return None
        if self.reported and self._has_recovered():
            self.reported = self.evidence = 0.0
        self.evidence = min(THRESHOLD, self.evidence + gained)
        if self.evidence <= 0:
            self.evidence = 0.0
            self._slow.clear()
            return None
        self._slow.append(block)
        if self.evidence < THRESHOLD:
            return None
        change = float(np.median([each.excess for each in self._slow]))
        sure = 1.0 if self.reported else _SURE
        if change - self.reported < sure * wanted:
            return None
        since = self._slow[0].since
        self.reported = change
        self._restart()
        return Change(since, change)

    def _settle(self) -> None:
        if len(self._recent) == _SHORTEST:
            self.reported = max(0.0, float(np.median(self._recent)))
            self._settling = False

    def _restart(self) -> None:
        self.evidence = 0.0
        self._slow.clear()
        self._recent.clear()

    def _has_recovered(self) -> bool:
        full = len(self._recent) == _RECOVERED_IN
        return full and float(np.median(self._recent)) < self.reported / 2
