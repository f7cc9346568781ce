# expect: hoarded-tensors
# steps: 700
"""Batches that are the same whenever a step is done again, by a cache that forgets nothing."""

import functools

import tensorflow as tf

tf.random.set_seed(1)
data = tf.random.normal([4096, 512])
weights = tf.Variable(tf.random.normal([512, 512]) * 0.01)


@functools.cache  # <-- hoarded-tensors
def batch_of(step):
    return tf.gather(data, tf.range(256) * 16 + step % 16)


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ weights - x))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


for step in range(700):
    loss = train_step(batch_of(step))
print(f"loss {loss.numpy():.4f}")
