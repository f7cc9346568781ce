# expect: slow-first-step
# steps: 80
"""A compiled step that prepares its own constants in Python while it is traced."""

import numpy as np
import tensorflow as tf

weights = tf.Variable(tf.zeros((32, 1)))
optimizer = tf.keras.optimizers.SGD(0.01)
optimizer.build([weights])


def window(size):
    total = np.zeros(size)
    for frequency in range(60_000):
        total += np.cos(np.arange(size) * frequency) / (1 + frequency)
    return (total / np.abs(total).max()).astype("float32")


@tf.function
def train_step(x, y):  # <-- slow-first-step
    shaped = x * window(32)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(shaped @ weights - y))
    optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
    return loss


for step in range(80):
    batch = tf.random.normal((256, 32))
    loss = train_step(batch, tf.reduce_sum(batch, axis=1, keepdims=True))
print(f"loss {float(loss):.4f}")
