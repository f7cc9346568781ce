# expect: python-overhead
# steps: 2000
"""A curriculum learner that ranks all examples seen so far before every step."""

import random

import numpy as np
import tensorflow as tf

random.seed(0)
rng = np.random.default_rng(0)
data = rng.normal(size=(4096, 64)).astype("float32")
weights = tf.Variable(tf.random.stateless_normal((64, 32), seed=(1, 2)))


@tf.function
def train(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.matmul(batch, weights) - 1.0) ** 2)
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


def hardest(history, count):
    ranked = sorted(history, key=lambda entry: entry[1])  # <-- python-overhead
    return [index for index, _ in ranked[-count:]]


history = []
for step in range(2000):
    for index in rng.integers(0, len(data), size=16):
        history.append((int(index), random.random()))
    chosen = hardest(history, 32)
    loss = train(tf.constant(data[chosen]))
print("loss", float(loss))
