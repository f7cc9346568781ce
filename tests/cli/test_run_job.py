"""`unslow run` as one process of a job, and its bad input; without TensorFlow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def config(index: int, *addresses: str) -> str:
    cluster = {"worker": list(addresses or ("a:1", "b:1"))}
    return json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})


def run(place: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    (place / "train.py").write_text("print('trained')\n")
    return subprocess.run(
        [sys.executable, "-m", "unslow", "run", *words],
        cwd=place,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_workers_of_one_cluster_share_a_folder(tmp_path: Path) -> None:
    for index in (0, 1):
        done = run(tmp_path, "-q", "--out", "job", "train.py", TF_CONFIG=config(index))
        assert done.returncode == 0 and "trained" in done.stdout, done.stderr
    entries = [json.loads(path.read_text()) for path in (tmp_path / "job").glob("launch-*.json")]
    assert {entry["task"] for entry in entries} == {"worker 0", "worker 1"}
    assert {entry["ended"] for entry in entries} == {"exit 0"}


def test_a_worker_of_another_job_is_refused_in_a_sentence(tmp_path: Path) -> None:
    run(tmp_path, "-q", "--out", "job", "train.py", TF_CONFIG=config(0))
    done = run(tmp_path, "-q", "--out", "job", "train.py", TF_CONFIG=config(0, "c:1", "d:1"))
    assert done.returncode == 2 and "trained" not in done.stdout
    assert "cannot record into job: it holds cluster" in done.stderr


def test_a_worker_that_cannot_reach_the_disk_trains_on_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "disk").write_text("no folder")
    done = run(tmp_path, "-q", "--out", "disk/job", "train.py", TF_CONFIG=config(0))
    assert done.returncode == 0 and "trained" in done.stdout
    assert "unslow: cannot write disk/job (Not a directory); recording into" in done.stderr


def test_a_second_process_of_one_identity_is_named(tmp_path: Path) -> None:
    run(tmp_path, "-q", "--out", "job", "train.py", TF_CONFIG=config(0))
    (entry,) = (tmp_path / "job").glob("launch-*.json")
    still = {key: value for key, value in json.loads(entry.read_text()).items() if key != "ended"}
    entry.write_text(json.dumps(still))
    done = run(tmp_path, "-q", "--out", "job", "train.py", TF_CONFIG=config(0))
    assert done.returncode == 0
    assert "two processes with one identity" in done.stderr


@pytest.mark.parametrize(
    ("words", "variables", "said"),
    [
        (("--workers", "two"), {}, "'two' is not a valid integer"),
        (("--workers", "0"), {}, "0 is not in the range"),
        (("--ps", "1"), {}, "parameter servers need workers"),
        (("--workers", "2"), {"TF_CONFIG": config(0)}, "already part of a cluster"),
    ],
)
def test_what_cannot_be_started_is_refused_before_anything_runs(
    tmp_path: Path, words: tuple[str, ...], variables: dict[str, str], said: str
) -> None:
    done = run(tmp_path, *words, "train.py", **variables)
    assert done.returncode == 2 and "trained" not in done.stdout
    assert said in done.stderr
    assert not (tmp_path / ".unslow").exists()


def test_a_configuration_that_is_not_json_is_named_and_the_training_runs(tmp_path: Path) -> None:
    done = run(tmp_path, "-q", "train.py", TF_CONFIG="{worker")
    assert done.returncode == 0 and "trained" in done.stdout
    assert "TF_CONFIG is not JSON" in done.stderr
