"""Counting all tensors takes a bounded part of a training, however many objects it holds."""

from __future__ import annotations

import pytest

from tests.record.standins import Clock
from unslow.record.engine.start import Recording
from unslow.record.probes.memory import live_tensors
from unslow.record.probes.memory.live_tensors import LiveTensors

SECOND = 1_000_000_000
STEP = SECOND // 10


class _Counting:
    """A training that grows all the time, and what one count of its objects takes."""

    def __init__(self, recording: Recording, clock: Clock, patch: pytest.MonkeyPatch) -> None:
        self._recording, self._clock = recording, clock
        self.counts, self.takes = 0, SECOND
        patch.setattr(live_tensors, "cpu", clock)
        patch.setattr(live_tensors, "instances_of", self._counted)
        patch.setattr(live_tensors.sys, "getallocatedblocks", lambda: self.takes // 50)
        self._probe = LiveTensors(recording.recorder, recording.steps, recording.watcher)
        self._probe._kind = object

    def _counted(self, kinds: object) -> list[object]:
        self.counts += 1
        self._clock.now += self.takes
        return []

    def train(self, steps: int) -> None:
        lane = self._recording.recorder.local.lane
        for total in range(1, steps + 1):
            self._clock.now += STEP
            self._recording.watcher.rss = total << 24
            self._probe._stepped(lane, total)


@pytest.fixture
def counting(recording: Recording, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> _Counting:
    return _Counting(recording, clock, monkeypatch)


def test_a_short_training_is_counted(counting: _Counting) -> None:
    counting.takes = SECOND // 20
    counting.train(60)
    assert counting.counts >= 2


def test_a_count_that_would_take_a_large_part_of_the_training_waits(counting: _Counting) -> None:
    counting.train(600)
    assert counting.counts == 0
    counting.train(1000)
    assert counting.counts == 1


def test_all_counts_together_stay_below_a_hundredth_of_a_long_training(
    counting: _Counting, clock: Clock
) -> None:
    counting.takes = 3 * SECOND // 2
    counting.train(5000)
    assert 0 < counting.counts * counting.takes <= clock.now // 100 + SECOND // 5
