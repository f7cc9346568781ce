"""Which ops of a step a window counts: those that compiling the step would take over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from unslow.facts.eager import EagerOps
from unslow.facts.phase import Phase
from unslow.record.engine.start import Recording
from unslow.record.probes.eager.op_timing import OpWindow


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    recording = Recording(str(tmp_path))
    yield recording
    recording.end()


def ops_of_a_step(recording: Recording, monkeypatch: pytest.MonkeyPatch, within: Phase) -> int:
    """One op of the step, and two while it is in another phase."""
    written: list[EagerOps] = []
    recorder = recording.recorder
    monkeypatch.setattr(recorder, "emit", written.append)
    module: Any = ModuleType("runtime")
    module.TFE_Py_FastPathExecute = lambda context, name, *args: SimpleNamespace()
    lane = recorder.local.lane
    window = OpWindow(recorder, module, {}, lane)
    module.TFE_Py_FastPathExecute(None, "MatMul")
    lane.within = int(within)
    for _ in range(2):
        module.TFE_Py_FastPathExecute(None, "MakeIterator")
    lane.within = -1
    window.close(5)
    return written[0].ops


@pytest.mark.parametrize("phase", [Phase.EVAL, Phase.INPUT, Phase.SAVE, Phase.LOG])
def test_what_predict_or_a_save_runs_is_not_the_steps(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, phase: Phase
) -> None:
    assert ops_of_a_step(recording, monkeypatch, phase) == 1


def test_what_runs_between_the_calls_is(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ops_of_a_step(recording, monkeypatch, Phase.RUN) == 3


def test_what_the_window_itself_takes_is_no_part_of_a_step(recording: Recording) -> None:
    recorder, lane = recording.recorder, recording.recorder.local.lane
    window = OpWindow(recorder, ModuleType("runtime"), {}, lane)
    window.close(5)
    assert 0 < lane.own == recorder.inspection_times["eager"]
