# expect: hoarded-tensors
# steps: 300
"""Noise that is the same whenever a step is done again, by a cache that forgets nothing."""

import functools

import tensorflow as tf

tf.random.set_seed(1)
batch = tf.random.normal([256, 512])
weights = tf.Variable(tf.random.normal([512, 512]) * 0.01)


@functools.cache  # <-- hoarded-tensors
def noise(step):
    return tf.random.stateless_normal([256, 512], seed=[7, step])


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ weights - batch))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


for step in range(300):
    loss = train_step(batch + 0.1 * noise(step))
print(f"loss {loss.numpy():.4f}")
