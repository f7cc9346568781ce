# expect: xla-recompile
# steps: 120
"""An XLA-compiled step that is traced once, and compiled for every length of its sentences."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(1)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.GlobalAveragePooling1D(),
        tf.keras.layers.Dense(1),
    ]
)
model.build((None, None, 8))
optimizer = tf.keras.optimizers.SGD(0.05)


@tf.function(jit_compile=True, input_signature=[tf.TensorSpec((16, None, 8)), tf.TensorSpec((16, 1))])
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for step in range(120):
    length = 20 + int(rng.integers(12))
    batch = tf.constant(rng.normal(size=(16, length, 8)), tf.float32)
    loss = train_step(batch, tf.reduce_mean(batch, axis=(1, 2))[:, None])  # <-- xla-recompile
print(f"loss {float(loss):.4f}")
