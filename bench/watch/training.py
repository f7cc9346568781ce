"""A small real training for twenty minutes: healthy, or with a slow-down, a leak and a stall put in.

python training.py SECONDS [sick]    prints when each trouble begins, in seconds since the epoch
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import tensorflow as tf

# Shares of the whole time at which troubles begin and end.
SLOWER_AT = 0.35
LEAK_AT, LEAK_UNTIL, FREED_AT = 0.55, 0.80, 0.84
STALL_AT = 0.87
STALL = 100.0  # seconds
LEAK = 16 << 20  # bytes a second: a fifth of 20 GB is gone in some minutes
DEPTH, SLOW_DEPTH = 24, 36  # layers in a step: half as much work again

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
WEIGHTS = tf.Variable(tf.random.normal((256, 256), seed=1) * 0.05)
BATCH = tf.random.normal((128, 256), seed=2)
OPTIMIZER = tf.keras.optimizers.SGD(1e-4)


@tf.function
def step(batch: tf.Tensor, depth: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        value = batch
        for _ in tf.range(depth):
            value = tf.tanh(value @ WEIGHTS)
        loss = tf.reduce_mean(value * value)
    OPTIMIZER.apply_gradients([(tape.gradient(loss, WEIGHTS), WEIGHTS)])
    return loss


def say(trouble: str) -> None:
    print(json.dumps({"trouble": trouble, "time": time.time()}), flush=True)


def train(seconds: float, sick: bool) -> None:
    began = time.monotonic()
    kept: list[np.ndarray] = []
    depth = tf.constant(DEPTH)
    told: set[str] = set()
    steps = 0

    def once(trouble: str) -> bool:
        fresh = trouble not in told
        told.add(trouble)
        if fresh:
            say(trouble)
        return fresh

    while (now := time.monotonic() - began) < seconds:
        step(BATCH, depth)
        steps += 1
        time.sleep(0.02)  # a light load: the machine is shared
        if steps % 500 == 0:
            time.sleep(0.3)  # a validation
        if not sick:
            continue
        if now > SLOWER_AT * seconds and once("slower"):
            depth = tf.constant(SLOW_DEPTH)
        if LEAK_AT * seconds < now < LEAK_UNTIL * seconds:
            once("leak")
            wanted = (now - LEAK_AT * seconds) * LEAK
            while len(kept) * (1 << 20) < wanted:
                kept.append(np.ones(1 << 17))
        if now > FREED_AT * seconds:
            kept.clear()
        if now > STALL_AT * seconds and once("stall"):
            time.sleep(STALL)


if __name__ == "__main__":
    train(float(sys.argv[1]), sys.argv[2:] == ["sick"])
