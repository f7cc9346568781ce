"""The same moment on the clocks of several machines."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from unslow.analyse.sketches.jobs import Hand, JobSketch
from unslow.analyse.workers.clocks import Timed, origins

HOUR = 3600 * 10**9
WALL = 1_800_000_000 * 10**9


def block(shift: int, jitter: int = 0) -> str:
    """Steps of a worker whose clock shows them so many nanoseconds later."""
    records = JobSketch("a job", workers=(Hand(), Hand())).records()[0].copy()
    noise = np.random.default_rng(1).integers(0, jitter + 1, len(records))
    records["end"] += shift + noise
    return base64.b64encode(records.tobytes()).decode()


def test_processes_of_one_machine_share_its_clock() -> None:
    found = origins([Timed("a", 50, WALL, "j"), Timed("a", 80, WALL + 400, "j")])
    assert [origin.start for origin in found] == [50, 50]
    assert found[0].clock.shared == 0


def test_machines_are_first_compared_by_their_wall_clocks() -> None:
    found = origins([Timed("a", 50, WALL, ""), Timed("b", 7050, WALL - 7000, "")])
    assert [origin.start for origin in found] == [50, 7050]


def test_clocks_an_hour_apart_are_aligned_by_the_steps_they_share() -> None:
    one = Timed("a", 0, WALL, "j", (block(0),))
    other = Timed("b", 5, WALL + HOUR, "j", (block(5, jitter=200_000),))
    first, second = origins([one, other])
    assert second.start - first.start == pytest.approx(5, abs=1e6)
    assert second.clock.offset == pytest.approx(-3600, abs=0.01)
    assert 0 < second.clock.error < 0.001
    assert second.clock.shared == 200


def test_a_machine_without_shared_steps_keeps_its_wall_clock() -> None:
    one = Timed("a", 0, WALL, "j", (block(0),))
    other = Timed("b", 0, WALL + 1000, "j")
    assert origins([one, other])[1].clock.shared == 0
