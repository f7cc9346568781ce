"""The test that says when a training has become slower, on a quiet machine and beside others.

By the wall's time as long as others leave it room, and beside others by the training's own
processor time, too: neighbors make a step longer, but hardly its work.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field, replace

from unslow.watch.blocks import Block
from unslow.watch.cusum import THRESHOLD, Change, Cusum, gain
from unslow.watch.history import History
from unslow.watch.load import Usage
from unslow.watch.measured import Kind, Measured, Times, measured

SHARE = 0.10  # of a step's time that a slow-down must add
_DELAY = 24  # blocks until one becomes part of the past: a slow-down must not hide itself
_MOST_KINDS = 32  # histories kept: loops and loads of the machine
# On a machine that others keep busy, what they do to caches, clocks and memory moves a step by
# itself: by 10 to 15 % in the recordings of `make watch-bench`. Less says nothing about the
# training.
BUSY_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Slower:
    """A training that has become slower."""

    since: float  # by the process's clock
    before: float  # seconds a step: of the wall, or of processors
    now: float
    by_work: bool  # in processor seconds

    @property
    def share(self) -> float:
        return self.now / self.before - 1


@dataclass(slots=True)
class _Past:
    """Earlier blocks of one kind, by one measure."""

    step: History = field(default_factory=History)
    element: History = field(default_factory=History)

    def add(self, times: Times | None) -> None:
        if times is None:
            return
        self.step.add(times.step)
        if math.isfinite(times.element):
            self.element.add(times.element)

    def gain(self, times: Times, known: float, wanted: float) -> float:
        """What a block says for a slow-down beyond what is known of one."""
        by_step = gain(times.step - self.step.level - known, wanted, self.step)
        if not (self.element.is_known and math.isfinite(times.element)):
            return by_step
        # Larger batches may take longer.
        by_element = gain(times.element - self.element.level - known, wanted, self.element)
        return min(by_step, by_element)


@dataclass(slots=True)
class _Pasts:
    """Earlier blocks of one kind, by both measures."""

    wall: _Past = field(default_factory=_Past)
    work: _Past = field(default_factory=_Past)
    cores: History = field(default_factory=History)  # that it used on a crowded machine


@dataclass(slots=True)
class SlowdownTest:
    """Blocks of one training in, at most one `Slower` per slow-down out."""

    share: float = SHARE
    level: float = 0.0  # seconds of a step as it was, under the load of the last block; 0: unknown
    noise: float = 0.0  # of a block around that, as a share
    _by_wall: Cusum = field(default_factory=Cusum)
    _by_work: Cusum = field(default_factory=Cusum)
    _pasts: dict[Kind, _Pasts] = field(default_factory=dict)
    _waiting: deque[Measured] = field(default_factory=deque)

    @property
    def reported(self) -> float:
        """How much slower the training is already known to be, as a logarithm."""
        return max(self._by_wall.reported, self._by_work.reported)

    def add(self, block: Block, usage: Usage) -> Slower | None:
        """`usage`: what the processors did during the block."""
        seen = self._by_what_is_left(measured(block, usage))
        pasts = self._pasts_of(seen.kind)
        self._remember(seen)
        self.level = 0.0
        # A loop or a load that is new has no past: nothing to compare with.
        found = None
        if seen.wall is not None and pasts.wall.step.is_known:
            self.level, self.noise = math.exp(pasts.wall.step.level), pasts.wall.step.noise
            found = self._judge_wall(seen, seen.wall, pasts)
        if found is None and seen.work is not None and pasts.work.step.is_known:
            found = self._judge_work(seen, seen.work, pasts)
        if found is not None:
            self._waiting.clear()
        return found

    def _by_what_is_left(self, seen: Measured) -> Measured:
        """On a crowded machine, how much less than usual others leave makes the kind."""
        if not seen.kind.is_crowded:
            return seen
        usual = self._pasts_of(seen.kind).cores
        usual.add(seen.cores)
        if not usual.is_known:
            return seen
        return replace(seen, kind=seen.kind.with_less(usual.level - seen.cores))

    def _judge_wall(self, seen: Measured, times: Times, pasts: _Pasts) -> Slower | None:
        test, past = self._by_wall, pasts.wall
        wanted = test.wanted(self.share if seen.kind.is_quiet else self._busy_share)
        block = Change(seen.begin, times.step - past.step.level)
        change = test.add(block, past.gain(times, test.reported, wanted), wanted)
        if change is not None:
            self._by_work.settle()
        return _slower(change, past, by_work=False)

    def _judge_work(self, seen: Measured, times: Times, pasts: _Pasts) -> Slower | None:
        """More work a step that the wall, where it can be believed, does not deny."""
        test, past = self._by_work, pasts.work
        wanted = test.wanted(self._busy_share)
        gained = past.gain(times, test.reported, wanted)
        if seen.wall is not None:
            by_wall = self._by_wall
            longer = by_wall.wanted(self.share)
            gained = min(gained, pasts.wall.gain(seen.wall, by_wall.reported, longer))
        block = Change(seen.begin, times.step - past.step.level)
        change = test.add(block, gained, wanted)
        if change is not None:
            self._by_wall.settle()
        return _slower(change, past, by_work=True)

    @property
    def _busy_share(self) -> float:
        return max(self.share, BUSY_SHARE)

    def _pasts_of(self, kind: Kind) -> _Pasts:
        pasts = self._pasts.pop(kind, None) or _Pasts()
        self._pasts[kind] = pasts  # the last one used is at the end
        while len(self._pasts) > _MOST_KINDS:
            del self._pasts[next(iter(self._pasts))]
        return pasts

    def _remember(self, seen: Measured) -> None:
        """Later, unless it is part of a slow-down: the past must not follow it."""
        self._waiting.append(seen)
        while len(self._waiting) > _DELAY:
            old = self._waiting.popleft()
            pasts = self._pasts.get(old.kind)
            if pasts is None:
                continue
            for past, times in ((pasts.wall, old.wall), (pasts.work, old.work)):
                if not (self._suspects and past.step.is_known):
                    past.add(times)

    @property
    def _suspects(self) -> bool:
        evidence = max(self._by_wall.evidence, self._by_work.evidence)
        return self.reported > 0 or evidence > THRESHOLD / 2


def _slower(change: Change | None, past: _Past, by_work: bool) -> Slower | None:
    if change is None:
        return None
    before = math.exp(past.step.level)
    return Slower(change.since, before, before * math.exp(change.excess), by_work)
