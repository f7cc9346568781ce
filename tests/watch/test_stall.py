"""When a training without steps has stalled."""

from __future__ import annotations

from unslow.watch.stall import BUSY, IDLE, Pauses


def after(seconds: float, cores: float | None, longest: float = 0.1, distance: float = 2.0) -> bool:
    pauses = Pauses()
    pauses.took(50.0, 900.0)  # the first step traces
    pauses.took(longest, 1000.0)
    return pauses.stalled(1000.0 + seconds, cores, distance) is not None


def test_a_process_that_waits_has_stalled_after_a_minute() -> None:
    assert not after(IDLE - 1, 0.0) and after(IDLE + 1, 0.0)


def test_a_process_that_works_has_longer_since_it_may_validate() -> None:
    assert not after(BUSY - 1, 1.0) and after(BUSY + 1, 1.0)


def test_a_pause_like_an_earlier_one_is_usual() -> None:
    assert not after(200, 0.0, longest=60.0) and after(301, 0.0, longest=60.0)


def test_a_run_elsewhere_may_be_silent_as_long_as_its_recorder_is() -> None:
    assert not after(300, None, distance=64.0) and after(400, None, distance=64.0)


def test_nothing_is_said_before_the_first_step() -> None:
    assert Pauses().stalled(1e6, 0.0, 2.0) is None
