"""Losses of a trial in real trainings: eager and compiled steps, Keras 2 and 3, and sessions."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from unslow.proof.trials import Side, run_trial

_STEPS = 14

_CUSTOM = """
import tensorflow as tf
x = tf.random.normal([64, 8], seed=1)
w = tf.Variable(tf.random.normal([8, 1]))
mean = tf.keras.metrics.Mean("train_loss")
optimizer = tf.keras.optimizers.SGD(0.1)


def step(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.matmul(batch, w) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w]))
    mean.update_state(loss)
    return {"all": loss, "half": loss / 2}


COMPILED
for number in range(40):
    step(x)
"""

_KERAS = """
import tensorflow as tf
x = tf.random.normal([320, 8], seed=1)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse", metrics=["mae"])
model.fit(x, x[:, :1], batch_size=16, epochs=3, verbose=0)
"""

_SESSION = """
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
x = tf.random.normal([64, 8])
w = tf.get_variable("w", [8, 1])
loss = tf.reduce_mean(tf.matmul(x, w) ** 2, name="loss")
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for number in range(40):
        session.run([train, loss])
"""


@pytest.mark.parametrize(
    ("text", "legacy", "expected"),
    [
        (_CUSTOM.replace("COMPILED", ""), "0", {"loss#0", "metric train_loss#0"}),
        (
            _CUSTOM.replace("COMPILED", "step = tf.function(step)"),
            "0",
            {"loss#0", "output half#0", "metric train_loss#0"},
        ),
        (_KERAS, "0", {"metric loss#0"}),
        (_KERAS, "1", {"output loss#0", "metric loss#0"}),
        (_SESSION, "0", {"fetch loss:0#0", "fetch at 1#0"}),
    ],
    ids=["eager", "compiled", "Keras 3", "Keras 2", "session"],
)
def test_the_loss_of_a_training_is_seen_though_it_never_reads_it(
    text: str, legacy: str, expected: set[str], tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(text)
    env = {"TF_USE_LEGACY_KERAS": legacy, "TF_CPP_MIN_LOG_LEVEL": "3"}
    side = Side([sys.executable, "train.py"], str(tmp_path), {}, env)
    trial = run_trial(side, _STEPS, seed=3)
    assert trial.ended == "exit 0", trial.errors
    assert not trial.lost.get("losses"), trial.lost
    assert expected <= set(trial.series), sorted(trial.series)
    for name in expected:
        values = trial.series[name]
        assert len(values) >= _STEPS - 1
        assert np.isfinite(values).all() and values[-1] < values[0]
