"""Simulated jobs: small ones of every kind here, those of 1,000 workers in bench/workers_scale."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.workers_scale.__main__ import HEALTHY, REASONS, faulty, judged
from bench.workers_scale.simulate import Simulated, write
from unslow.analyse.run.assemble import load
from unslow.runfolder import layout


@pytest.mark.parametrize("reason", REASONS)
def test_the_worker_and_the_reason_are_named(reason: str, tmp_path: Path) -> None:
    result = judged(faulty(24, 400, reason, 7), tmp_path / "run")
    assert result.right_worker and result.right_reason, (result.blamed, result.reasons)


@pytest.mark.parametrize("number", range(len(HEALTHY)))
def test_a_healthy_job_is_no_alarm(number: int, tmp_path: Path) -> None:
    result = judged(Simulated(24, 400, seed=number, **HEALTHY[number]), tmp_path / "run")
    assert result.blamed == ()


def test_rows_of_many_processes_are_folded_without_losing_a_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(Simulated(3, 2000), tmp_path / "run")
    whole = load(str(tmp_path / "run"))
    monkeypatch.setattr("unslow.analyse.run.recorded._MOST_ROWS", 600)
    monkeypatch.setattr("unslow.analyse.run.recorded._LEAST_ROWS", 200)
    folded = load(str(tmp_path / "run"))
    for before, after in zip(whole.loops, folded.loops, strict=True):
        assert len(after.end) <= 200 < len(before.end)
        assert after.steps == before.steps == 2000
        assert after.total == pytest.approx(before.total)
        assert after.phases.T @ after.count == pytest.approx(before.phases.T @ before.count)


def test_a_job_without_launchers_has_ended_when_its_processes_have(tmp_path: Path) -> None:
    write(Simulated(2, 50), tmp_path / "run")
    layout.write_header(str(tmp_path / "run"), {"command": [], "started": 1.0, "job": "job 1"})
    assert load(str(tmp_path / "run")).ended == "exit 0"
    log = next((tmp_path / "run").glob("*.events"))
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(line for line in lines if '"k": "end"' not in line))
    assert load(str(tmp_path / "run")).ended == "running"
