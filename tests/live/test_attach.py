"""Attaching to real trainings while they run: the right cause, the same results, everything put back."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from unslow.attach.session import attached
from unslow.attach.target import target_of

SCRIPTS = {
    "retracing": """
@tf.function
def step(x, y, rate):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w - y) ** 2)
    w.assign_sub(rate * tape.gradient(loss, w))
    return loss


def turn(number):
    return step(x, y, 0.1 / (1 + number))
""",
    "eager-step": """
optimizer = tf.keras.optimizers.Adam(0.01)


def turn(number):
    with tf.GradientTape() as tape:
        hidden = x
        for _ in range(12):
            hidden = tf.nn.tanh(hidden + 0.1)
        loss = tf.reduce_mean((hidden @ w - y) ** 2)
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
""",
    "": """
large = tf.random.normal([512, 512])


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        mixed = large
        for _ in range(4):
            mixed = tf.nn.tanh(mixed @ large)
        loss = tf.reduce_mean((x @ w - y) ** 2) + tf.reduce_mean(mixed) * tf.reduce_sum(w)
    w.assign_sub(0.1 * tape.gradient(loss, w))


def turn(number):
    return step(x, y)
""",
}
BEGIN = """
import json, sys, time
import tensorflow as tf
tf.random.set_seed(1)
w = tf.Variable(tf.zeros([8, 1]))
x = tf.random.normal([64, 8])
y = tf.reduce_sum(x, 1, keepdims=True)
"""
END = """
wrapped = lambda: [vars(tf.Variable).get("assign_sub"), type(w).assign_sub, tf.GradientTape.gradient]
before = wrapped()
print("ready", flush=True)
turns = int(sys.argv[1])
for number in range(turns):
    turn(number)
    if number == turns - 1:  # the last turns are made once nobody is attached any more
        sys.stdin.readline()
print(json.dumps({"w": w.numpy().tolist(), "restored": before == wrapped(), "ours": "unslow.attached" in sys.modules}))
"""


@contextmanager
def training(body: str, turns: int, place: Path) -> Iterator[subprocess.Popen[str]]:
    script = place / "train.py"
    script.write_text(BEGIN + body + END)
    process = subprocess.Popen(
        [sys.executable, str(script), str(turns)],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=place,
    )
    assert process.stdout is not None and process.stdin is not None
    assert process.stdout.readline() == "ready\n"
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def finished(process: subprocess.Popen[str]) -> dict[str, object]:
    out, _ = process.communicate("\n", timeout=300)
    found: dict[str, object] = json.loads(out.splitlines()[-1])
    return found


@pytest.mark.parametrize(("cause", "turns"), [("retracing", 120), ("eager-step", 1200), ("", 900)])
def test_the_cause_is_found_in_a_training_that_runs_already(
    cause: str, turns: int, tmp_path: Path
) -> None:
    with training(SCRIPTS[cause], turns, tmp_path) as process:
        time.sleep(1.0)
        with attached(target_of(process.pid), tmp_path / "run") as session:
            assert session.arming < 0.3
            time.sleep(6.0)
        disturbed = finished(process)
    words = [sys.executable, "-m", "unslow", "why", str(tmp_path / "run"), "--format", "json"]
    report = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    faults = [finding["cause"] for finding in report["findings"] if finding["fault"]]
    assert report["steps"] > 0
    assert faults[:1] == ([cause] if cause else [])
    with training(SCRIPTS[cause], turns, tmp_path) as process:
        undisturbed = finished(process)
    assert disturbed == undisturbed == {"w": disturbed["w"], "restored": True, "ours": False}
