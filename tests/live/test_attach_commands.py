"""`unslow attach`, `unslow watch PID` and `--until known` as they are typed, beside a training that runs on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.conftest import environment, unslow
from tests.live.test_live_view import PACE, OnTerminal

TRAIN = """
import time
import tensorflow as tf
w = tf.Variable(1.0)
optimizer = tf.keras.optimizers.SGD(0.01)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = (w * x) ** 2
    optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w]))
    return loss


step(tf.constant(2.0))
print("begun", flush=True)
for number in range(10**6):
    loss = step(tf.constant(2.0))
    time.sleep(0.01)
"""


@pytest.fixture
def training(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    (tmp_path / "train.py").write_text(TRAIN)
    process = subprocess.Popen(
        [sys.executable, "train.py"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.slow
def test_a_name_and_a_number_of_steps_are_enough(
    training: subprocess.Popen[str], tmp_path: Path
) -> None:
    words = ["attach", "--name", "train.py", "--steps", "100", "--format", "json", "-o", "run"]
    done = unslow(words, tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["steps"] >= 100
    assert report["ended"] == "running on"
    assert f"attached to process {training.pid}" in done.stderr
    assert f"detached from process {training.pid}" in done.stderr
    assert training.poll() is None


@pytest.mark.slow
def test_on_a_terminal_it_is_followed_until_ctrl_c(
    training: subprocess.Popen[str], tmp_path: Path
) -> None:
    attach = OnTerminal(["-m", "unslow", "attach", str(training.pid)], tmp_path)
    attach.read(until=lambda text: bool(PACE.search(text)))
    attach.child.send_signal(signal.SIGINT)
    assert attach.read() == 0
    whole = "\n".join([*attach.shown.above, *attach.shown.text()])
    assert "detached from process" in whole and "Traceback" not in whole
    assert "since unslow attached" in " ".join(whole.split())
    assert training.poll() is None


@pytest.mark.slow
def test_until_known_goes_on_at_the_lowest_rate(
    training: subprocess.Popen[str], tmp_path: Path
) -> None:
    words = ["attach", str(training.pid), "--until", "known:3s", "--for", "40s", "-o", "run"]
    done = unslow([*words, "--format", "json"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "since then" in json.loads(done.stdout)["at_lowest_rate"]
    assert training.poll() is None


@pytest.mark.slow
def test_a_process_is_watched_until_ctrl_c_and_left_as_it_was(
    training: subprocess.Popen[str], tmp_path: Path
) -> None:
    watch = _watch(training.pid, tmp_path)
    (folder,) = (tmp_path / ".unslow").glob(f"*-attach-{training.pid}")
    time.sleep(5)
    watch.send_signal(signal.SIGINT)
    out, errors = watch.communicate(timeout=60)
    assert watch.returncode == 0 and out == ""
    assert "the training goes on" in errors and "Traceback" not in errors
    assert json.loads((folder / "attached.json").read_text())["state"] == "detached"
    assert training.poll() is None


@pytest.mark.slow
def test_a_process_that_dies_is_told_by_watch(
    training: subprocess.Popen[str], tmp_path: Path
) -> None:
    watch = _watch(training.pid, tmp_path)
    time.sleep(5)
    training.kill()
    training.wait()
    out, errors = watch.communicate(timeout=120)
    assert "died" in out, (out, errors)
    assert watch.returncode == 1


def _watch(pid: int, place: Path) -> subprocess.Popen[str]:
    """`unslow watch PID`, once it has attached."""
    watch = subprocess.Popen(
        [sys.executable, "-m", "unslow", "watch", str(pid)],
        cwd=place,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert watch.stderr is not None
    assert f"attached to process {pid}" in watch.stderr.readline()
    return watch
