"""How long the program could not go on while we worked beside it."""

from __future__ import annotations

import gc
import time

import pytest

from unslow.record.engine import giving_way
from unslow.record.engine.giving_way import GivingWay


class Clock:
    """The processor time of a thread that has just begun."""

    now = 0.0

    def thread_time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        pass


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(giving_way, "time", made)
    return made


def test_the_longest_work_between_two_rests_is_known(clock: Clock) -> None:
    with GivingWay() as beside:
        for worked in (0.01, 0.03, 0.02):
            clock.now += worked
            beside.rest()
        clock.now += 0.005
    assert beside.longest == pytest.approx(0.03)


def test_a_collection_of_the_programs_garbage_is_not_ours(clock: Clock) -> None:
    with GivingWay() as beside:
        clock.now = 0.01
        beside._collected("start", {})
        clock.now = 0.21
        beside._collected("stop", {})
        clock.now = 0.22
    assert beside.longest == pytest.approx(0.02)


def test_nothing_is_left_behind() -> None:
    before = list(gc.callbacks)
    with GivingWay() as beside:
        assert len(gc.callbacks) == len(before) + 1
        beside.rest()
    assert gc.callbacks == before and time.thread_time() > 0
