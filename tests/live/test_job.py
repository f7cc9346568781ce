"""Jobs of several real TensorFlow processes: started by us, by Ray, and one launcher per worker."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, environment

CLUSTERS = ROOT / "examples" / "clusters"
UNSLOW = [sys.executable, "-m", "unslow"]


def done(command: list[str], place: Path, **more: str) -> subprocess.CompletedProcess[str]:
    env = {**environment(), "CUDA_VISIBLE_DEVICES": "-1", **more}
    return subprocess.run(
        command, cwd=place, env=env, capture_output=True, text=True, timeout=300, check=False
    )


def report(folder: Path) -> dict[str, Any]:
    printed = done([*UNSLOW, "why", str(folder), "--format", "json"], folder.parent)
    assert printed.returncode == 0, printed.stderr
    loaded: dict[str, Any] = json.loads(printed.stdout)
    return loaded


def test_two_workers_are_one_job_in_one_report(tmp_path: Path) -> None:
    command = [*UNSLOW, "run", "--workers", "2", "--out", "run", str(CLUSTERS / "train.py"), "40"]
    ran = done(command, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert {line.partition(" loss")[0] for line in ran.stdout.splitlines()} >= {
        "[worker 0] worker 0",
        "[worker 1] worker 1",
    }
    job = report(tmp_path / "run")["job"]
    assert (job["size"], job["recorded"], job["steps"]) == (2, 2, 40)
    assert {each["name"] for each in job["workers"]} == {"worker 0", "worker 1"}


@pytest.mark.slow
def test_no_start_of_ten_hangs(tmp_path: Path) -> None:
    for number in range(10):
        out = f"run{number}"
        script = str(CLUSTERS / "train.py")
        ran = done([*UNSLOW, "run", "-q", "--workers", "2", "--out", out, script, "5"], tmp_path)
        assert ran.returncode == 0, ran.stderr


@pytest.mark.slow
def test_parameter_servers_end_with_their_chief(tmp_path: Path) -> None:
    script = str(CLUSTERS / "train_ps.py")
    command = [*UNSLOW, "run", "--workers", "1", "--ps", "1", "--out", "run", script, "30"]
    ran = done(command, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "[chief 0] loss" in ran.stdout
    header = json.loads((tmp_path / "run" / "run.json").read_text())
    assert [each["task"] for each in header["tasks"]] == ["chief 0", "worker 0", "ps 0"]


@pytest.mark.slow
def test_launchers_of_one_cluster_join_and_a_late_one_is_missing_until_then(
    tmp_path: Path,
) -> None:
    """What happens on two machines with a shared disk; the report is asked for meanwhile."""
    addresses = [f"127.0.0.1:{port}" for port in _ports(2)]
    processes = [_worker(index, addresses, tmp_path) for index in range(2)]
    try:
        _wait_for(tmp_path / "run", 2)
        live = done([*UNSLOW, "live", "run", "--format", "json"], tmp_path)
        assert live.returncode == 0, live.stderr
        for process in processes:
            assert process.wait(timeout=240) == 0
    finally:
        for process in processes:
            process.kill()
            process.wait()
    found = report(tmp_path / "run")
    assert found["ended"] == "exit 0"
    assert found["job"]["recorded"] == 2
    assert len(list((tmp_path / "run").glob("launch-*.json"))) == 2


@pytest.mark.slow
def test_a_worker_that_is_killed_ends_the_job_with_its_signal_and_leaves_a_report(
    tmp_path: Path,
) -> None:
    script = str(CLUSTERS / "train.py")
    command = [*UNSLOW, "run", "--workers", "2", "--out", "run", script, "100000"]
    env = {**environment(), "CUDA_VISIBLE_DEVICES": "-1"}
    with (tmp_path / "errors").open("w") as errors:
        process = subprocess.Popen(
            command, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=errors
        )
        try:
            _wait_for(tmp_path / "run", 2)
            time.sleep(3)  # some seconds of steps
            victim = int(next((tmp_path / "run").glob("*.steps")).stem.rpartition("-")[2])
            os.kill(victim, signal.SIGKILL)
            assert process.wait(timeout=120) == -signal.SIGKILL
        finally:
            process.kill()
            process.wait()
    assert (
        "ended with killed by SIGKILL; ending the other process"
        in (tmp_path / "errors").read_text()
    )
    job = report(tmp_path / "run")["job"]
    assert job["recorded"] == 2 and job["steps"] > 10


@pytest.mark.slow
@pytest.mark.parametrize(("script", "named"), [("ray_train.py", True), ("ray_tasks.py", False)])
def test_processes_that_ray_starts_record_into_one_folder(
    tmp_path: Path, script: str, named: bool
) -> None:
    pytest.importorskip("ray")
    ran = done([sys.executable, str(CLUSTERS / script), str(tmp_path / "run")], tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found = report(tmp_path / "run")
    trained = [each for each in found["processes"] if each["steps"]]
    assert len(trained) == 2
    if named:
        assert {each["name"] for each in found["job"]["workers"]} == {"worker 0", "worker 1"}


FINITE = """
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
data = tf.data.Dataset.from_tensor_slices(tf.ones([6400, 64])).batch(32)
with strategy.scope():
    weight = tf.Variable(tf.random.stateless_normal([64, 64], [1, 2]))


def replica(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((batch @ weight) ** 2)
    gradient = tape.gradient(loss, weight)
    (reduced,) = tf.distribute.get_replica_context().all_reduce("mean", [gradient])
    weight.assign_sub(0.001 * reduced)


@tf.function
def train(batch):
    strategy.run(replica, args=(batch,))


distributed = strategy.experimental_distribute_dataset(data)
for epoch in range(2):
    for batch in distributed:
        train(batch)
"""


@pytest.mark.slow
def test_a_diff_for_a_job_is_proved_by_running_all_workers_again(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(FINITE)
    ran = done([*UNSLOW, "run", "-q", "--workers", "2", "--out", "run", "train.py"], tmp_path)
    assert ran.returncode == 0, ran.stderr
    findings = {each["cause"] for each in report(tmp_path / "run")["findings"]}
    assert "communication" in findings
    proved = done([*UNSLOW, "fix", "run", "--prove", "--format", "json"], tmp_path)
    assert "data.repeat()" in proved.stdout and "PROVED" in proved.stdout, proved.stderr


def _ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(each.getsockname()[1]) for each in held]
    for each in held:
        each.close()
    return ports


def _worker(index: int, addresses: list[str], place: Path) -> subprocess.Popen[bytes]:
    task = {"type": "worker", "index": index}
    config = json.dumps({"cluster": {"worker": addresses}, "task": task})
    command = [*UNSLOW, "run", "-q", "--out", "run", str(CLUSTERS / "train.py"), "400"]
    env = {**environment(), "CUDA_VISIBLE_DEVICES": "-1", "TF_CONFIG": config}
    return subprocess.Popen(command, cwd=place, env=env, stderr=subprocess.DEVNULL)


def _wait_for(folder: Path, processes: int) -> None:
    """Until so many processes have made a step."""
    for _ in range(1200):
        written = [path for path in folder.glob("*.steps") if path.stat().st_size]
        if len(written) >= processes:
            return
        time.sleep(0.1)
    raise AssertionError("no steps within two minutes")
