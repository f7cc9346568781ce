"""The record of a worker's step: what lay before its first collective, and what after it."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from unslow.analyse.workers.records import records_of
from unslow.facts.phase import Phase
from unslow.record.engine.start import Recording
from unslow.record.probes.distribute import step_records
from unslow.record.probes.distribute.step_records import Spent, StepRecords, Threads


class Owner:
    """Stands for a tf.function."""


def blocks(folder: Path) -> list[str]:
    lines = next(folder.glob("*.events")).read_text().splitlines()
    return [line["data"] for line in map(json.loads, lines) if line["k"] == "worker_steps"]


@pytest.fixture
def recording(tmp_path: Path) -> Any:
    recording = Recording(str(tmp_path))
    yield recording
    recording.end()


def make_steps(recording: Recording, count: int, input_seconds: float = 0.0) -> StepRecords:
    recorder, steps = recording.recorder, recording.steps
    records = StepRecords(recorder, steps)
    recorder.signals.row.subscribe("test", records.row)
    lane, owner = recorder.local.lane, Owner()
    for number in range(count):
        if input_seconds:
            span = recorder.open_span(lane, Phase.INPUT)
            time.sleep(input_seconds)
            recorder.close_span(lane, span)
        records.launched(100 + number)
        time.sleep(0.002)
        steps.ended(lane, "function", owner, "step", sys._getframe())
    records.finish()
    recorder.flush()
    return records


def test_every_step_has_its_number_and_its_key(recording: Recording, tmp_path: Path) -> None:
    make_steps(recording, 5)
    found = records_of(blocks(tmp_path))
    assert found["step"].tolist() == [1, 2, 3, 4, 5]
    assert found["key"].tolist() == [100, 101, 102, 103, 104]
    assert (found["collectives"] == 1).all()


def test_work_before_the_first_collective_is_kept_apart(
    recording: Recording, tmp_path: Path
) -> None:
    make_steps(recording, 4, input_seconds=0.01)
    found = records_of(blocks(tmp_path))[1:]  # the first begins with the recording
    assert (found["input"] >= 0.009).all()
    assert (found["before"] >= found["input"]).all()
    assert (found["wall"] - found["before"] >= 0.0015).all()


def test_waiting_takes_no_processor_time(recording: Recording, tmp_path: Path) -> None:
    make_steps(recording, 20)
    found = records_of(blocks(tmp_path))
    assert found["inside"].sum() < 0.5 * (found["wall"] - found["before"]).sum()


def test_a_record_costs_a_few_microseconds(recording: Recording) -> None:
    records = StepRecords(recording.recorder, recording.steps)
    lane = recording.recorder.local.lane
    recording.steps.last_row = (time.perf_counter_ns(), [0] * len(Phase), 0, 1.0)
    began = time.process_time()
    for number in range(1000):
        records.launched(number)
        recording.steps.led = number + 1
        records.row(lane)
    each = (time.process_time() - began) / 1000
    assert each < 60e-6  # 12 µs on a quiet core


@pytest.mark.parametrize(("eager", "timed"), [(2, 0.5), (1, 0.0)])
def test_collectives_are_timed_where_all_of_a_step_ran_eagerly(
    recording: Recording, tmp_path: Path, eager: int, timed: float
) -> None:
    records = StepRecords(recording.recorder, recording.steps)
    recording.recorder.signals.row.subscribe("test", records.row)
    for key in (1, 2):
        records.launched(key)
    records.ran(eager, 500_000_000)
    recording.steps.ended(
        recording.recorder.local.lane, "function", Owner(), "step", sys._getframe()
    )
    records.finish()
    recording.recorder.flush()
    assert records_of(blocks(tmp_path))["timed"].tolist() == [timed]


def test_threads_that_move_data_are_told_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = {"1": ["python", 0, 0], "2": ["event_engine", 0, 0], "3": ["collective_ops", 0, 0]}

    def read(path: str) -> str:
        name, ran, waited = busy[path.split("/")[4]]
        return str(name) if path.endswith("comm") else f"{ran} {waited} 9"

    monkeypatch.setattr(step_records, "read", read)
    monkeypatch.setattr(step_records, "_tasks", lambda: list(busy))
    threads = Threads()
    for thread in busy.values():
        thread[1:] = [1000, 10]
    assert threads.since_last() == Spent(delayed=30, network=2000)
    del busy["2"]  # a thread that ended takes its counters along
    assert threads.since_last() == Spent(0, 0)
