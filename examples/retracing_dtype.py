# expect: retracing
# also: wide-dtypes
# steps: 60
"""Batches that come with all sorts of dtypes and numbers of dimensions."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
rng = np.random.default_rng(1)
weights = tf.Variable(tf.zeros([8, 1]))
DTYPES = (tf.float32, tf.float64, tf.int32, tf.int64, tf.float16, tf.int16)


@tf.function
def train_step(batch):
    batch = tf.reshape(tf.cast(batch, tf.float32), [-1, 8])
    wanted = tf.reduce_sum(batch, axis=1, keepdims=True)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(batch @ weights - wanted))
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


for step in range(60):
    batch = tf.cast(rng.integers(-3, 4, size=(64, 8)), DTYPES[step % 6])
    loss = train_step(batch)  # <-- retracing
print(f"loss {loss.numpy():.4f}")
