"""A trial of a job: every task runs, and what the first one records counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from unslow.proof.cluster import Cluster
from unslow.proof.trial_job import command_of

SCRIPT = """
import json, os, pathlib, sys, time
task = json.loads(os.environ["TF_CONFIG"])["task"]
trial = json.loads(os.environ["UNSLOW_TRIAL"])
about = [os.environ["UNSLOW_RUN"], trial["out"], trial["steps"]]
pathlib.Path(f"{task['type']}-{task['index']}").write_text(json.dumps(about))
if task["index"] == 0:
    sys.exit(int(sys.argv[1]))
"""


def ran(place: Path, cluster: Cluster, code: str = "0") -> int:
    (place / "train.py").write_text(SCRIPT)
    trial = json.dumps({"steps": 7, "out": "weights"})
    env = {**os.environ, "UNSLOW_RUN": "run", "UNSLOW_TRIAL": trial}
    command = command_of(cluster, [sys.executable, "train.py", code])
    return subprocess.run(command, cwd=place, env=env, check=False, timeout=60).returncode


def test_the_others_record_beside_the_first_and_leave_nothing(tmp_path: Path) -> None:
    assert ran(tmp_path, Cluster(2)) == 0
    first, other = (json.loads((tmp_path / f"worker-{n}").read_text()) for n in (0, 1))
    assert first == ["run", "weights", 7]
    assert other[2] == 7
    assert other[0] != "run" and other[1] != "weights"
    assert not Path(other[0]).exists()


def test_it_ends_as_the_first_task_does(tmp_path: Path) -> None:
    assert ran(tmp_path, Cluster(2), "3") == 3


def test_a_coordinator_comes_first(tmp_path: Path) -> None:
    assert ran(tmp_path, Cluster(1, 1)) == 0
    assert json.loads((tmp_path / "chief-0").read_text())[0] == "run"
    assert json.loads((tmp_path / "worker-0").read_text())[0] != "run"
