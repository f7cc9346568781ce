# expect: nothing
# steps: 300
"""Batches of every length through one graph that leaves the length open: each new shape costs next to nothing."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(1)
weights = tf.Variable(tf.zeros((64, 1)))
optimizer = tf.keras.optimizers.SGD(0.01)


@tf.function(input_signature=[tf.TensorSpec((None, 64)), tf.TensorSpec((None, 1))])
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(x) @ weights - y))
    optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
    return loss


pool = tf.constant(rng.normal(size=(1000, 64)), tf.float32)
for step in range(300):
    rows = pool[: rng.integers(500, 1000)]
    loss = train_step(rows, tf.reduce_sum(rows, axis=1, keepdims=True))
print(f"loss {float(loss):.4f}")
