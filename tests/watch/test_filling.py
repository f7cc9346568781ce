"""When something will be full: growth that goes on, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unslow.watch.filling import Filling

GB = 1e9


def filled(used: Any, apart: float = 2.0) -> Filling:
    filling = Filling()
    for at, value in enumerate(used):
        filling.add(at * apart, float(value))
    return filling


def test_a_leak_is_seen_with_the_time_that_is_left() -> None:
    used = 1 * GB + 0.01 * GB * np.arange(300) + np.random.default_rng(0).normal(0, 2e6, 300)
    full = filled(used).forecast(room=6 * GB)
    assert full is not None
    assert full.rate == pytest.approx(0.005 * GB, rel=0.05)
    assert full.left == pytest.approx(1200, rel=0.05)


def test_a_leak_that_begins_late_is_seen() -> None:
    used = np.concatenate((np.full(400, 1 * GB), 1 * GB + 0.02 * GB * np.arange(150)))
    full = filled(used).forecast(room=6 * GB)
    assert full is not None and full.rate == pytest.approx(0.01 * GB, rel=0.2)


def test_little_growth_beside_much_room_is_no_leak() -> None:
    assert filled(1 * GB + 0.001 * GB * np.arange(300)).forecast(room=20 * GB) is None


def test_a_cache_that_fills_and_stops_is_no_leak() -> None:
    used = np.minimum(1 * GB + 0.05 * GB * np.arange(400), 5 * GB)
    assert filled(used).forecast(room=5 * GB) is None


def test_memory_that_goes_up_and_down_is_no_leak() -> None:
    used = 2 * GB + 1 * GB * np.sin(np.arange(600) / 10)
    for size in range(100, 600, 50):
        assert filled(used[:size]).forecast(room=2 * GB) is None


def test_nothing_is_said_in_the_first_minutes() -> None:
    assert filled(1 * GB + 0.1 * GB * np.arange(60)).forecast(room=1 * GB) is None


def test_what_is_full_in_weeks_is_no_news() -> None:
    used = 1 * GB + 0.01 * GB * np.arange(300)
    assert filled(used, apart=86_400.0).forecast(room=8 * GB) is None


def test_memory_of_our_own_is_bounded() -> None:
    filling = filled(np.arange(100_000.0))
    assert len(filling._times) < 256
