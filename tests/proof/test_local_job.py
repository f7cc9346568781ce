"""Processes of one job on this machine: real processes, without TensorFlow."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import json, os, subprocess, sys, time
task = json.loads(os.environ["TF_CONFIG"])["task"]
what = sys.argv[1]
print("here", flush=True)
if what == "fail" and task["index"] == 1:
    sys.exit(3)
if what == "killed" and task["index"] == 1:
    os.kill(os.getpid(), 9)
if what == "child":
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    open(f"child-{task['index']}", "w").write(str(child.pid))
if what == "stubborn":
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("ready", flush=True)
serves = task["type"] in ("ps", "worker") and what == "servers"
if what in ("fail", "killed", "wait", "stubborn") or serves:
    time.sleep(60)
"""

# Peers are not given time to notice here: they never would.
LAUNCHER = """
import sys
from unslow.proof import launch, local_job
from unslow.proof.cluster import Cluster
local_job.NOTICE, local_job.TERMINATED = 0.2, float(sys.argv[4])
command = [sys.executable, "train.py", sys.argv[1]]
cluster = Cluster(int(sys.argv[2]), int(sys.argv[3]))
launch.die_as(local_job.record(command, "run", cluster, {}, lambda text: print(text)))
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "launcher.py").write_text(LAUNCHER)
    (tmp_path / "run").mkdir()
    return tmp_path


def started(place: Path, *words: str, patience: float = 1.0) -> subprocess.Popen[bytes]:
    what, workers, servers = (*words, "2", "0")[:3] if len(words) == 1 else words
    return subprocess.Popen(
        [sys.executable, "launcher.py", what, workers, servers, str(patience)],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def finished(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    output, _ = process.communicate(timeout=30)
    return process.returncode, output.decode()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def header(place: Path) -> dict[str, object]:
    loaded: dict[str, object] = json.loads((place / "run" / "run.json").read_text())
    return loaded


def test_a_job_that_ends_well_exits_with_0_and_every_line_has_its_worker(place: Path) -> None:
    code, output = finished(started(place, "end", "3", "0"))
    assert code == 0
    assert sorted(output.splitlines()) == [f"[worker {n}] here" for n in range(3)]
    assert header(place)["ended"] == "exit 0"
    assert header(place)["cluster"] == {"workers": 3, "servers": 0}


def test_the_first_worker_that_fails_ends_the_job_with_its_own_code(place: Path) -> None:
    code, output = finished(started(place, "fail"))
    assert code == 3
    assert "worker 1 ended with exit 3; ending the other process" in output


def test_a_worker_that_was_killed_is_passed_on_as_a_signal(place: Path) -> None:
    code, output = finished(started(place, "killed", "3", "0"))
    assert code == -signal.SIGKILL
    assert "worker 1 ended with killed by SIGKILL; ending the other 2 processes" in output


def test_servers_end_with_the_chief(place: Path) -> None:
    code, _ = finished(started(place, "servers", "2", "1"))
    assert code == 0
    tasks = {each["task"]: each["ended"] for each in header(place)["tasks"]}  # type: ignore[attr-defined]
    assert tasks["chief 0"] == "exit 0" and tasks["ps 0"] == "killed by SIGTERM"


def test_ctrl_c_ends_all_of_them(place: Path) -> None:
    process = started(place, "wait")
    lines = [process.stdout.readline() for _ in range(2)]  # type: ignore[union-attr]
    assert all(b"here" in line for line in lines)
    process.send_signal(signal.SIGINT)
    code, _ = finished(process)
    assert code == -signal.SIGINT


def test_a_worker_that_ignores_every_request_is_killed(place: Path) -> None:
    process = started(place, "stubborn", patience=0.3)
    ready = b""
    while ready.count(b"ready") < 2:
        ready += process.stdout.readline()  # type: ignore[union-attr]
    process.send_signal(signal.SIGTERM)
    code, _ = finished(process)
    assert code == -signal.SIGKILL


def test_what_a_worker_started_does_not_outlive_the_job(place: Path) -> None:
    assert finished(started(place, "child"))[0] == 0
    pids = [int((place / f"child-{n}").read_text()) for n in range(2)]
    assert not any(_gone_soon(pid) for pid in pids)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_workers_die_with_a_launcher_that_is_killed(place: Path) -> None:
    process = started(place, "wait")
    for _ in range(2):
        process.stdout.readline()  # type: ignore[union-attr]
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.kill()
    process.communicate()
    assert len(children) == 2
    assert not any(_gone_soon(int(pid)) for pid in children)


def _gone_soon(pid: int) -> bool:
    """Whether a process is still there after the moment that a signal takes."""
    for _ in range(50):
        if not is_alive(pid):
            return False
        time.sleep(0.02)
    return True


@pytest.mark.slow
def test_no_start_in_a_hundred_hangs(place: Path) -> None:
    for _ in range(100):
        code, output = finished(started(place, "end", "4", "0"))
        assert code == 0 and output.count("here") == 4
