# expect: memory-peak
# also: slow-first-step
# steps: 4000
"""A compiled step gathers rows from an array that it closes over: a constant of 60 MB in its graph."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
features = rng.standard_normal((30_000, 500), dtype=np.float32)
model = tf.keras.Sequential([tf.keras.Input((500,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01)


@tf.function
def train(rows):
    x = tf.gather(features, rows)  # <-- memory-peak
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - x[:, :1]) ** 2)
    weights = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


for _ in range(4000):
    loss = train(tf.constant(rng.integers(0, len(features), 256)))
print("loss", round(float(loss), 3))
