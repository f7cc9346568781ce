"""Every line that a real training writes fits the kind that declares it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from tests.live.conftest import Recorded
from unslow.facts.codec import Context, Undecodable, decode
from unslow.facts.kinds import all_kinds
from unslow.runfolder import layout
from unslow.runfolder.steplog import parse

# An eager step, a compiled one and fit() in one process.
TRAINING = """
import gc
import tensorflow as tf

data = tf.data.Dataset.from_tensor_slices(tf.random.normal([256, 8])).map(lambda x: (x, x)).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(8)])
optimizer = tf.keras.optimizers.SGD()
for x, y in data:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    float(loss)

@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)

for epoch in range(20):
    for x, y in data:
        step(x, y)
    gc.collect()
tf.train.Checkpoint(model=model).save("saved/model")
model.compile("sgd", "mse")
model.fit(data, epochs=2, verbose=0)
"""

SESSION = """
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 8])
w = tf.get_variable("w", [8, 1])
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(tf.matmul(x, w) ** 2))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(300):
        session.run(train, {x: np.ones([4, 8], np.float32)})
"""


def undecodable(recorded: Recorded) -> tuple[list[str], Counter[str]]:
    """What does not fit, and how many lines of each declared kind do."""
    wrong, seen, kinds = [], Counter[str](), all_kinds()
    folder = layout.read(str(recorded.folder))
    assert folder.logs
    for log in folder.logs:
        assert not log.torn and not log.damaged
        assert not parse(log.rows).damaged
        for line in log.lines:
            if line["k"] not in kinds:
                continue
            try:
                decode(line, Context(0, 0, str))
                seen[line["k"]] += 1
            except Undecodable as problem:
                wrong.append(f"{problem} in {line}")
            unknown = line.keys() - {"k", "t"} - set(kinds[line["k"]].WRITTEN.values())
            wrong += [f"{line['k']} does not declare {name}" for name in sorted(unknown)]
    return wrong, seen


def test_every_line_of_an_eager_compiled_and_keras_training_can_be_decoded(
    record: Callable[..., Recorded],
) -> None:
    wrong, seen = undecodable(record(TRAINING))
    assert not wrong
    assert seen.keys() >= {"process", "imported", "site", "stack", "samples", "tick", "end", "gc"}


def test_every_line_of_a_session_can_be_decoded(record: Callable[..., Recorded]) -> None:
    wrong, seen = undecodable(record(SESSION))
    assert not wrong
    assert seen["site"] and seen["end"]
