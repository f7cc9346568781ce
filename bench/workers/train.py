"""A small distributed training with one fault, for the campaign: see `cases.py` for the faults.

The fault acts in one worker only (`worker`), or, for communication, in all of them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf
from tensorflow.python.data.experimental.ops import testing

WIDTH = 512
HELD_OUT = 128  # rows


def main(
    fault: str, worker: int, loop: str, epochs: Sequence[tuple[int, bool]], batch: int
) -> None:
    """`loop`: compiled, inside, eager or fit; `epochs`: the steps of each, and whether it has the fault."""
    settings()
    task = json.loads(os.environ["TF_CONFIG"])["task"]
    training = Training(fault, task["index"] == worker, loop, batch)
    if loop == "fit":
        training.fit(epochs[0][0])
    else:
        training.run(epochs)


def settings() -> None:
    """Each process has one core."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(2)


class Training:
    def __init__(self, fault: str, faulty: bool, loop: str, batch: int) -> None:
        self.fault, self.faulty, self.loop, self.batch = fault, faulty, loop, batch
        self.is_faulty = faulty
        self.epochs: Sequence[tuple[int, bool]] = ()
        self.strategy = tf.distribute.MultiWorkerMirroredStrategy()
        self.hoard: list[np.ndarray] = []
        self.train: Callable[[tf.Tensor], tf.Tensor] | None = None
        with self.strategy.scope():
            self.weights = [self.weight(number) for number in range(self.layers())]
            self.table = tf.Variable(tf.zeros([20_000, 64])) if fault == "slices" else None
            self.large = tf.Variable(tf.zeros([6_000_000])) if fault == "large" else None

    def layers(self) -> int:
        return 24 if self.fault == "small" else 3

    def weight(self, number: int) -> tf.Variable:
        width = 64 if self.fault == "small" else WIDTH
        return tf.Variable(tf.random.stateless_normal([width, width], [1, number]) * 0.02)

    def dataset(self, _: tf.distribute.InputContext) -> tf.data.Dataset:
        width = 64 if self.fault == "small" else WIDTH
        batch = self.batch + 1200 * self.is_("batches")  # 30 ms of computing
        data = tf.data.Dataset.from_tensors(tf.ones([batch, width])).repeat()
        if self.comes_and_goes():
            return self.by_turns(data).prefetch(1)
        return self.slowed(data).prefetch(1) if self.is_("input") else data.prefetch(1)

    def slowed(self, data: tf.data.Dataset) -> tf.data.Dataset:
        """A Python function here may hang a process that exits."""
        # fit() divides each element among the workers, and so its time.
        return data.apply(testing.sleep(240_000 if self.loop == "fit" else 120_000))

    def comes_and_goes(self) -> bool:
        """Whether one iterator feeds several turns: of those that live for a second little is known."""
        return self.fault == "input" and len(self.epochs) > 2

    def by_turns(self, data: tf.data.Dataset) -> tf.data.Dataset:
        """Input that is slow in some epochs."""
        whole = data.take(0)
        for steps, has_fault in self.epochs:
            part = data.take(steps)
            whole = whole.concatenate(self.slowed(part) if self.is_faulty and has_fault else part)
        return whole.concatenate(data)

    def is_(self, fault: str) -> bool:
        return self.faulty and self.fault == fault

    def replica(self, batch: tf.Tensor) -> tf.Tensor:
        watched = [*self.weights, *(v for v in (self.table, self.large) if v is not None)]
        with tf.GradientTape() as tape:
            loss = self.loss(batch)
        gradients = tape.gradient(loss, watched)
        context = tf.distribute.get_replica_context()
        reduced = context.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)
        for weight, gradient in zip(watched, reduced, strict=True):
            if isinstance(gradient, tf.IndexedSlices):
                step = tf.IndexedSlices(1e-4 * gradient.values, gradient.indices)
                weight.scatter_sub(step)
            else:
                weight.assign_sub(1e-4 * gradient)
        return loss

    def loss(self, batch: tf.Tensor) -> tf.Tensor:
        hidden = batch
        for weight in self.weights:
            hidden = tf.nn.relu(hidden @ weight)
        loss = tf.reduce_mean(hidden)
        if self.table is not None:
            rows = tf.nn.embedding_lookup(self.table, tf.range(15_000))
            loss += tf.reduce_mean(rows)
        if self.large is not None:
            loss += tf.reduce_mean(self.large * 0.5)
        return loss

    def fit(self, steps: int) -> None:
        """The same with tf_keras, whose input, computing and collectives are in one call."""
        import tf_keras

        with self.strategy.scope():
            layers = [tf_keras.layers.Dense(WIDTH, activation="relu") for _ in range(3)]
            model = tf_keras.Sequential(layers)
            model.compile("sgd", "mse")
        data = self.dataset(tf.distribute.InputContext()).map(lambda batch: (batch, batch))
        sharding = tf.data.Options()
        sharding.experimental_distribute.auto_shard_policy = (
            tf.data.experimental.AutoShardPolicy.OFF
        )
        action = tf_keras.callbacks.LambdaCallback(on_train_batch_end=lambda *_: self.in_python())
        model.fit(data.with_options(sharding), steps_per_epoch=steps, verbose=0, callbacks=[action])

    def in_python(self) -> None:
        if self.is_("python"):
            sum(i * i for i in range(400_000))

    def run(self, epochs: Sequence[tuple[int, bool]]) -> None:
        """Each epoch has an iterator of its own, unless input comes and goes."""
        self.epochs, evaluate = epochs, tf.function(self.loss)
        step = None
        for steps, has_fault in epochs:
            self.faulty = self.is_faulty and has_fault
            step = step if step and self.comes_and_goes() else self.step()
            for number in range(steps):
                if self.is_("first") and number == 0:
                    time.sleep(3)
                step()
                self.in_python()
                if self.is_("memory"):
                    self.hoard.append(np.random.default_rng(number).random(1_500_000))
                self.evaluations(number, evaluate)

    def evaluations(self, number: int, evaluate: Callable[[tf.Tensor], tf.Tensor]) -> None:
        """After a step, if it is their turn."""
        often = self.is_("evaluate") and number % 25 == 20
        rarely = self.is_("rare-evaluation") and number % 75 == 70
        held_out = tf.ones([HELD_OUT, WIDTH])
        for _ in range(150 * often + 6 * rarely):
            evaluate(held_out)

    def step(self) -> Callable[[], object]:
        """A step of the next epoch."""
        data = iter(self.strategy.distribute_datasets_from_function(self.dataset))
        if self.loop == "inside":
            return tf.function(lambda: self.strategy.run(self.replica, args=(next(data),)))
        train = self.train or self.compiled()
        return lambda: train(next(data))

    def compiled(self) -> Callable[[tf.Tensor], tf.Tensor]:
        one = lambda batch: self.strategy.run(self.replica, args=(batch,))  # noqa: E731
        self.train = tf.function(one) if self.loop == "compiled" else one
        return self.train
