"""The interval of the process is shortened while the watcher waits, and the program never sees it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from unslow.record.engine import switch_interval
from unslow.record.engine.switch_interval import SwitchInterval

USUAL = 0.005
real = switch_interval._get


@pytest.fixture
def interval() -> Iterator[SwitchInterval]:
    before = real()
    switch_interval._set(USUAL)
    made = SwitchInterval()
    made.install()
    yield made
    made.uninstall()
    switch_interval._set(before)


def test_it_is_short_only_while_the_watcher_waits(interval: SwitchInterval) -> None:
    interval.shorten(2)
    assert real() == pytest.approx(switch_interval._SHORT)
    interval.restore()
    assert real() == pytest.approx(USUAL)


def test_the_program_sees_its_own(interval: SwitchInterval) -> None:
    interval.shorten(2)
    assert sys.getswitchinterval() == pytest.approx(USUAL)


def test_a_program_that_puts_back_what_it_read_gets_its_own_interval(
    interval: SwitchInterval,
) -> None:
    interval.shorten(2)
    kept = sys.getswitchinterval()
    sys.setswitchinterval(0.1)
    interval.restore()
    assert real() == pytest.approx(0.1, abs=2e-6)
    sys.setswitchinterval(kept)
    interval.restore()
    assert real() == pytest.approx(USUAL)


def test_an_interval_that_the_program_chose_is_not_shortened(interval: SwitchInterval) -> None:
    sys.setswitchinterval(0.02)
    interval.shorten(2)
    assert real() == pytest.approx(0.02)


def test_threads_that_share_the_lock_keep_their_interval(interval: SwitchInterval) -> None:
    interval.shorten(3)
    assert real() == pytest.approx(USUAL)


def test_a_wrong_interval_is_refused_as_ever(interval: SwitchInterval) -> None:
    with pytest.raises(ValueError, match="strictly positive"):
        sys.setswitchinterval(0)
    assert sys.getswitchinterval() == pytest.approx(USUAL)


def test_everything_is_put_back(interval: SwitchInterval) -> None:
    interval.shorten(2)
    interval.uninstall()
    assert sys.getswitchinterval is real
    assert sys.setswitchinterval is switch_interval._set
    assert real() == pytest.approx(USUAL)


def test_an_interval_set_through_an_older_reference_stays(interval: SwitchInterval) -> None:
    interval.shorten(2)
    switch_interval._set(0.02)
    interval.restore()
    interval.shorten(2)
    assert real() == pytest.approx(0.02, abs=1e-6)
    assert sys.getswitchinterval() == pytest.approx(0.02, abs=1e-6)
