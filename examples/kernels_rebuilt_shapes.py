# expect: kernels-rebuilt
# also: shape-churn, native-growth
# steps: 400
"""Signals of every length go through one graph that leaves the length open: one trace, but ever new primitives."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
rng = np.random.default_rng(1)
layers = [tf.keras.layers.Conv1D(16, 5, padding="same", activation="relu") for _ in range(8)]
model = tf.keras.Sequential([*layers, tf.keras.layers.GlobalAveragePooling1D(), tf.keras.layers.Dense(1)])
model.build((None, None, 4))
optimizer = tf.keras.optimizers.SGD(1e-3)


@tf.function(input_signature=[tf.TensorSpec((None, None, 4)), tf.TensorSpec((None, 1))])
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


signals = tf.random.normal((2, 400, 4))
for length in rng.integers(20, 400, size=400):
    batch = signals[:, :length]
    loss = train_step(batch, tf.reduce_mean(batch, axis=(1, 2))[:, None])  # <-- kernels-rebuilt
print(f"loss {float(loss):.4f}")
