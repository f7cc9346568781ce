"""What rows cost is counted once, and is not what the machine did meanwhile."""

from __future__ import annotations

import pytest

from tests.record.standins import Clock, compiled
from unslow.record.engine import steps
from unslow.record.engine.recorder import Lane
from unslow.record.engine.start import Recording

SECOND = 1_000_000_000
STEP = 1_000_000
ROWS = 2000


def _cost(recording: Recording, clock: Clock) -> int:
    step = compiled(recording)
    for _ in range(ROWS):
        clock.now += STEP
        step()
    recording.steps.leave_fast_path()
    return recording.steps.cost


def test_inspections_are_no_part_of_what_rows_cost(
    recording: Recording, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "cpu", clock)

    def inspect(lane: Lane, total: int) -> None:
        clock.now += SECOND
        recording.recorder.keep_out(lane, SECOND, "test")

    recording.recorder.signals.step.subscribe("test", inspect)
    assert _cost(recording, clock) < SECOND
    assert recording.recorder.inspection_times["test"] > 50 * SECOND


def test_a_busy_machine_is_no_part_of_what_rows_cost(
    recording: Recording, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "cpu", lambda: clock.now - stalled[0])
    stalled = [0]

    def stall(lane: Lane, total: int) -> None:
        clock.now += SECOND
        stalled[0] += SECOND

    recording.recorder.signals.step.subscribe("test", stall)
    assert _cost(recording, clock) < SECOND


def test_rows_cost_what_this_thread_worked(
    recording: Recording, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "cpu", clock)
    assert _cost(recording, clock) >= ROWS * 500 // 4
