"""The plugin in a real pytest with a real training."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest
import tensorflow as tf

w = tf.Variable(1.0)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = (w * x) ** 2
    w.assign_sub(0.01 * tape.gradient(loss, w))


def train(values):
    for value in values:
        step(value)


@pytest.mark.unslow(max_step=5.0, no=["retracing"])
def test_good():
    train([tf.constant(2.0)] * 30)


@pytest.mark.unslow(no=["retracing"])
def test_retraces():
    train([float(n) for n in range(30)])


@pytest.mark.unslow(max_step=1e-7)
def test_too_slow():
    train([tf.constant(2.0)] * 30)


@pytest.mark.unslow
def test_fails_by_itself():
    assert False, "its own reason"


def test_fixture(unslow_record):
    with unslow_record() as recorded:
        train([tf.constant(2.0)] * 30)
    assert recorded.diagnosis.run.steps == 30
    assert "retracing" not in recorded.causes
    recorded.check(max_step=5.0)
"""


def test_a_training_is_recorded_and_judged(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess(
        "-p", "unslow.pytest_plugin", "--strict-markers", "-rA", "-v"
    )
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines_random(
        [
            "*test_good PASSED*",
            "*test_fixture PASSED*",
            "*: retracing: *",
            "*a step takes * s, 1e-07 s allowed*",
            "*its own reason*",
        ]
    )
