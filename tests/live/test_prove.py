"""Proofs with real processes: a good change, and three bad ones that must be caught."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.conftest import unslow

SCRIPT = """
import time
import tensorflow as tf
x = tf.random.normal([64, 8], seed=1)
w = tf.Variable(tf.ones([8, 1]))


@tf.function
def step(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.matmul(batch, w) ** 2)
    w.assign_sub(RATE * tape.gradient(loss, w))
    return loss


for number in range(60):
    time.sleep(WAIT)
    step(x)
    AFTERWARDS
"""


def script(rate: str = "0.1", wait: str = "0.02", afterwards: str = "pass") -> str:
    return SCRIPT.replace("RATE", rate).replace("WAIT", wait).replace("AFTERWARDS", afterwards)


@pytest.mark.parametrize(
    ("after", "says"),
    [
        (script(wait="0.002"), "PROVED"),
        (script(wait="0.002", rate="0.11"), "RESULTS_DIFFER"),
        pytest.param(script(wait="0.06"), "SLOWER", marks=pytest.mark.slow),
    ],
    ids=["a good change", "a change of the results", "a slower one"],
)
def test_a_change_gets_its_verdict(after: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "before.py").write_text(script())
    (tmp_path / "after.py").write_text(after)
    done = unslow(["prove", "before.py", "after.py", "--steps", "50"], tmp_path)
    assert says in done.stdout, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["after.py", "before.py"]


def test_a_change_that_crashes_is_named_with_its_error(tmp_path: Path) -> None:
    (tmp_path / "before.py").write_text(script())
    (tmp_path / "after.py").write_text(script(afterwards="1 / 0 if number == 9 else None"))
    done = unslow(["prove", "before.py", "after.py", "--steps", "50"], tmp_path)
    assert done.returncode == 2 and "ZeroDivisionError" in done.stderr
