# expect: slow-first-step
# steps: 60
"""A lookup table of 40 MB that is a NumPy array: the compiled step carries a copy of it in its graph."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(1)
table = rng.normal(size=(160_000, 64)).astype("float32")
weights = tf.Variable(tf.zeros((64, 1)))
optimizer = tf.keras.optimizers.SGD(0.1)
optimizer.build([weights])


@tf.function
def train_step(rows, targets):
    features = tf.gather(table, rows)  # <-- slow-first-step
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(features @ weights - targets))
    optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
    return loss


for step in range(60):
    picked = tf.constant(rng.integers(0, len(table), 512))
    loss = train_step(picked, tf.ones((512, 1)))
print(f"loss {float(loss):.4f}")
