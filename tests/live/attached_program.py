"""A program that trains in every style, one after another; the tests attach to it in the middle of each.

Each loop runs until a file appears, or as often as it did in an earlier run, and then says what became of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from attached_identity import (  # type: ignore[import-not-found]
    attributes,
    changed,
    digest,
    got_dicts,
    objects_by_dict,
)

STOPS = Path(sys.argv[1])
STYLES = sys.argv[2].split(",")
DICTS: dict[str, list[str]] = {}  # classes of objects that got one while a style trained
COUNTS = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}


def turns(style: str) -> Iterator[int]:
    """Numbers of steps until the test has seen enough of this style."""
    stop, number = STOPS / style, 0
    before = objects_by_dict()
    while number < COUNTS[style] if COUNTS else not stop.exists():
        if number == 1:  # what is traced in the first step may take long
            before = objects_by_dict()
            print("begun", style, flush=True)
        yield number
        number += 1
    DICTS[style] = got_dicts(before)


def arrays() -> tuple[Any, Any]:
    rng = np.random.RandomState(0)
    x = rng.rand(64, 8).astype("float32")
    return x, x.sum(1, keepdims=True)


def session() -> tuple[int, str]:
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as opened:
        x, y = arrays()
        fed, wanted = v1.placeholder(tf.float32, [None, 8]), v1.placeholder(tf.float32, [None, 1])
        weights = v1.get_variable("weights", [8, 1], initializer=v1.zeros_initializer())
        counter = v1.train.get_or_create_global_step()
        loss = tf.reduce_mean((fed @ weights - wanted) ** 2)
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=counter)
        opened.run(v1.global_variables_initializer())
        for _ in turns("session"):
            opened.run(train, {fed: x, wanted: y})
        return int(opened.run(counter)), digest([opened.run(weights)])


def eager() -> tuple[int, str]:
    x, y = map(tf.constant, arrays())
    weights = tf.Variable(tf.zeros([8, 1]))
    optimizer = tf.keras.optimizers.Adam(0.01)
    for _ in turns("eager"):
        with tf.GradientTape() as tape:
            hidden = x
            for _ in range(12):
                hidden = tf.nn.tanh(hidden + 0.1)
            loss = tf.reduce_mean((hidden @ weights - y) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
    return int(optimizer.iterations.numpy()), digest([weights])


def compiled() -> tuple[int, str]:
    x, y = map(tf.constant, arrays())
    weights = tf.Variable(tf.zeros([8, 1]))

    @tf.function
    def step(x: Any, y: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weights - y) ** 2)
        weights.assign(weights - 0.1 * tape.gradient(loss, weights))

    count = 0
    for _ in turns("compiled"):
        step(x, y)
        count += 1
    return count, digest([weights])


def retracing() -> tuple[int, str]:
    x, y = map(tf.constant, arrays())
    weights = tf.Variable(tf.zeros([8, 1]))

    @tf.function
    def step(x: Any, y: Any, rate: float) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weights - y) ** 2)
        weights.assign_sub(rate * tape.gradient(loss, weights))

    number = -1
    for number in turns("retracing"):
        step(x, y, 0.1 / (1 + number))
    return number + 1, digest([weights])


class Until(tf.keras.callbacks.Callback):  # type: ignore[misc]
    """Ends a fit() in the middle of its only epoch."""

    def __init__(self, style: str) -> None:
        super().__init__()
        self._turns = turns(style)
        next(self._turns, None)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if next(self._turns, None) is None:
            self.model.stop_training = True


def fitted(make: Callable[[], Any], style: str) -> tuple[int, str]:
    tf.keras.utils.set_random_seed(1)  # layers draw their seeds when they are made
    model = make()
    x, y = arrays()
    data = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16)
    model.compile("sgd", "mse")
    model.fit(data, steps_per_epoch=10**6, verbose=0, callbacks=[Until(style)])
    return int(model.optimizer.iterations.numpy()), digest(model.get_weights())


def two_layers() -> Any:
    return tf.keras.Sequential(
        [tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(1)]
    )


def fit() -> tuple[int, str]:
    return fitted(two_layers, "fit")


class Custom(tf.keras.Model):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)

    def call(self, x: Any) -> Any:
        return self.dense(x)

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return {"loss": loss}


def custom_step() -> tuple[int, str]:
    return fitted(Custom, "custom_step")


def reinforcement() -> tuple[int, str]:
    tf.keras.utils.set_random_seed(1)
    rng = np.random.RandomState(0)
    network = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(2)])
    optimizer = tf.keras.optimizers.Adam(0.001)

    @tf.function
    def learn(states: Any, returns: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.reduce_max(network(states), axis=1) - returns) ** 2)
        weights = network.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))

    state = rng.rand(4).astype("float32")
    for _ in turns("reinforcement"):
        moves = []
        for _ in range(4):
            action = int(tf.argmax(network(state[None])[0]))
            state = rng.rand(4).astype("float32") + 0.01 * action
            moves.append(state)
        learn(tf.constant(np.stack(moves)), tf.zeros([4]))
    return int(optimizer.iterations.numpy()), digest(network.get_weights())


def main() -> None:
    loops: dict[str, Callable[[], tuple[int, str]]] = {
        "session": session,
        "eager": eager,
        "compiled": compiled,
        "retracing": retracing,
        "fit": fit,
        "custom_step": custom_step,
        "reinforcement": reinforcement,
    }
    before = attributes()
    for style in STYLES:
        count, weights = loops[style]()
        after = attributes()
        said = {"count": count, "weights": weights, "changed": changed(before, after)}
        said["dicts"] = DICTS[style]
        print(json.dumps(said), flush=True)


main()
