"""A folder for a job that is started without `unslow run`."""

from __future__ import annotations

from pathlib import Path

import pytest

from unslow.proof.open_job import open_job
from unslow.runfolder import layout


def test_the_variables_lead_processes_into_the_folder(tmp_path: Path) -> None:
    variables = open_job(tmp_path / "job")
    assert variables["UNSLOW_RUN"] == str(tmp_path / "job")
    assert (Path(variables["PYTHONPATH"].split(":")[0]) / "sitecustomize.py").is_file()
    header = layout.read_header(variables["UNSLOW_RUN"])
    assert header["job"] == f"job {variables['UNSLOW_JOB']}"


def test_the_job_of_an_engine_is_used_where_it_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    variables = open_job(tmp_path)
    assert "UNSLOW_JOB" not in variables
    assert layout.read_header(str(tmp_path))["job"] == "Slurm job 12"
