"""Event files, read back by TensorBoard's own accumulator."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from unslow.analyse.sketches.sketch import Sketch
from unslow.export import export
from unslow.export import tensorboard as ours

from ..report.gallery import GALLERY, retracing

# TensorBoard imports all of TensorFlow unless this module exists (seen on 2.15 to 2.20).
sys.modules.setdefault("tensorboard.compat.notf", ModuleType("tensorboard.compat.notf"))
accumulators = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator",
    reason="tensorboard is not installed: not tested",
)


def read(folder: Path) -> Any:
    accumulator = accumulators.EventAccumulator(
        str(folder), size_guidance=accumulators.STORE_EVERYTHING_SIZE_GUIDANCE
    )
    accumulator.Reload()
    return accumulator


def test_tensorboard_reads_step_times_and_phases(tmp_path: Path) -> None:
    run = read(export(retracing(), "tensorboard", tmp_path / "tb") / "loop 0 train.py-10")
    steps = run.Scalars("step seconds/mean")
    assert len(steps) == 300 and steps[-1].step == 300
    assert steps[0].value == pytest.approx(0.4) and run.Scalars("phase seconds/trace")[
        0
    ].value == pytest.approx(0.28)


def test_tensorboard_reads_memory_and_the_findings_as_text(tmp_path: Path) -> None:
    folder = export(retracing(), "tensorboard", tmp_path / "tb")
    assert read(folder / "process 0").Scalars("memory/resident bytes")[0].value == pytest.approx(
        3e8
    )
    text = read(folder / "report").Tensors("findings")[0].tensor_proto.string_val[0].decode()
    assert "step is traced again on 297 of 300 calls" in text


@pytest.mark.parametrize("name", GALLERY)
def test_every_run_can_be_exported(name: str, tmp_path: Path) -> None:
    folder = export(GALLERY[name](), "tensorboard", tmp_path / "tb")
    assert read(folder / "report").Tags()["tensors"] == ["findings"]


def test_exporting_again_replaces_the_files(tmp_path: Path) -> None:
    first = sorted(export(retracing(), "tensorboard", tmp_path / "tb").rglob("events*"))
    assert sorted(export(retracing(), "tensorboard", tmp_path / "tb").rglob("events*")) == first


def test_a_long_loop_is_thinned_and_keeps_its_longest_step() -> None:
    seconds = np.full(50_000, 0.001)
    seconds[33_333] = 2.0
    points = list(ours.points_of(replace(Sketch("long", seconds).run().loops[0])))
    assert (
        len(points) == ours.POINTS
        and max(values["step seconds/longest"] for _, _, values in points) == 2.0
    )
