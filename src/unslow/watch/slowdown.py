"""The test that says when a training has become slower: Page's CUSUM of blocks, one sequential
test.

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

from unslow.watch.blocks import BLOCK, Block
from unslow.watch.history import History
from unslow.watch.load import Usage

SHARE = 0.10  # of a step's time that a slow-down must add
_RARE = 365 * 86_400 / BLOCK  # blocks between two false alarms: a year
THRESHOLD = math.log(_RARE)
_SHORTEST = 7  # blocks that a slow-down must last: what passes within 35 s is a disturbance
_SURE = 0.8  # of the share must be there in the median of the slow blocks
_DELAY = 24  # blocks until one becomes part of the past: a slow-down must not hide itself
_MOST_KINDS = 32  # histories kept: loops and loads of the machine
_LOADS = (0.05, 0.15, 0.3, 0.5, 0.7)  # shares of the machine's cores that others use, as borders
_QUIET = 2  # of these loads: others use less than 15 % of the machine
# Where others use more, what they do to caches, clocks and memory moves a step by itself: by 10 to
# 15 % in the recordings of `make watch-bench`. Less than this share says nothing about the
# training.
BUSY_SHARE = 0.25
_CROWDED = -1  # others leave too little: only the training's own processor time says anything

Kind = tuple[int, int, int]  # the loop, how long its rows are, how busy others keep the machine


@dataclass(frozen=True, slots=True)
class Slower:
    """A training that has become slower."""

    since: float  # by the process's clock
    before: float  # seconds a step; processor seconds where other programs crowd the machine
    now: float
    crowded: bool

    @property
    def share(self) -> float:
        return self.now / self.before - 1


@dataclass(slots=True)
class _Pair:
    """The past of one kind of blocks: by the step and by the element of a batch."""

    step: History = field(default_factory=History)
    element: History = field(default_factory=History)

    def add(self, block: Measured) -> None:
        self.step.add(math.log(block.step))
        if block.element > 0:
            self.element.add(math.log(block.element))


@dataclass(frozen=True, slots=True)
class Measured:
    """A block as it is compared: with blocks of its kind only."""

    kind: Kind
    begin: float
    step: float  # seconds, of the wall or of processors
    element: float  # the same per element of the batches; NaN where they are not known


def measured(block: Block, usage: Usage) -> Measured:
    """By the wall's time; where others crowd the machine, by the processor time of the training."""
    load = sum(usage.others >= border for border in _LOADS)
    if not usage.crowded or usage.own <= 0:
        return Measured((block.site, block.octave, load), block.begin, block.step, block.element)
    ratio = usage.own / (block.end - block.begin)
    step, element = ratio * block.mean, ratio * block.mean / block.step * block.element
    return Measured((block.site, block.octave, _CROWDED), block.begin, step, element)


@dataclass(slots=True)
class SlowdownTest:
    """Blocks of one training in, at most one `Slower` per slow-down out."""

    share: float = SHARE
    reported: float = 0.0  # how much slower it is already known to be, as a logarithm
    evidence: float = 0.0  # the CUSUM
    level: float = 0.0  # seconds of a step as it was, under the load of the last block; 0: unknown
    noise: float = 0.0  # of a block around that, as a share
    _pasts: dict[Kind, _Pair] = field(default_factory=dict)
    _waiting: deque[Measured] = field(default_factory=deque)
    _slow: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=512))
    _recent: deque[float] = field(default_factory=lambda: deque(maxlen=_DELAY))

    def add(self, block: Block, usage: Usage) -> Slower | None:
        """`usage`: what the processors did during the block."""
        seen = measured(block, usage)
        past = self._past(seen.kind)
        self._remember(seen)
        if not past.step.is_known:  # a loop or a load that is new: nothing to compare with
            self.level = 0.0
            return None
        self.level, self.noise = math.exp(past.step.level), past.step.noise
        excess = math.log(seen.step) - past.step.level
        self._recent.append(excess)
        if self.reported and self._recovered():
            self.reported = self.evidence = 0.0
        wanted = self._wanted(seen.kind)
        gain = self._gain(excess, past.step, wanted)
        if past.element.is_known and seen.element > 0:  # larger batches may take longer
            by_element = math.log(seen.element) - past.element.level
            gain = min(gain, self._gain(by_element, past.element, wanted))
        return self._collect(seen, excess, gain)

    def _gain(self, excess: float, past: History, wanted: float) -> float:
        """The logarithm of the likelihood ratio of one block, so that no few blocks decide."""
        ratio = wanted / past.noise**2 * (excess - self.reported - wanted / 2)
        most = THRESHOLD / _SHORTEST
        return max(-most, min(most, ratio))

    def _wanted(self, kind: Kind) -> float:
        """What must be added: the share at first, then as much again as is known already."""
        quiet = 0 <= kind[2] < _QUIET
        share = self.share if quiet else max(self.share, BUSY_SHARE)
        return max(math.log1p(share), self.reported)

    def _collect(self, seen: Measured, excess: float, gain: float) -> Slower | None:
        self.evidence = min(THRESHOLD, self.evidence + gain)
        if self.evidence <= 0:
            self.evidence = 0.0
            self._slow.clear()
            return None
        self._slow.append((seen.begin, excess))
        if self.evidence < THRESHOLD:
            return None
        change = float(np.median([each for _, each in self._slow]))
        if change - self.reported < _SURE * self._wanted(seen.kind):
            return None
        since, before = self._slow[0][0], self.level
        self.reported, self.evidence = change, 0.0
        for held in (self._slow, self._waiting, self._recent):
            held.clear()
        crowded = seen.kind[2] == _CROWDED
        return Slower(since, before, before * math.exp(change), crowded)

    def _recovered(self) -> bool:
        return len(self._recent) == _DELAY and float(np.median(self._recent)) < self.reported / 2

    def _past(self, kind: Kind) -> _Pair:
        past = self._pasts.pop(kind, None) or _Pair()
        self._pasts[kind] = past  # the last one used is at the end
        while len(self._pasts) > _MOST_KINDS:
            del self._pasts[next(iter(self._pasts))]
        return past

    def _remember(self, seen: Measured) -> None:
        """Later, unless it is part of a slow-down: the past must not follow it."""
        self._waiting.append(seen)
        while len(self._waiting) > _DELAY:
            old = self._waiting.popleft()
            past = self._pasts.get(old.kind)
            suspect = self.reported > 0 or self.evidence > THRESHOLD / 2
            if past is not None and not (suspect and past.step.is_known):
                past.add(old)
