# expect: kernels-rebuilt
# steps: 240
"""Sequences of every length go through one graph that leaves the length open: one trace, but ever new primitives."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
rng = np.random.default_rng(1)


class Encoder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.convolutions = [tf.keras.layers.Conv1D(32, 5, padding="same", activation="relu") for _ in range(4)]
        self.attend = tf.keras.layers.MultiHeadAttention(2, 16)
        self.out = tf.keras.layers.Dense(1)

    def call(self, x):
        for layer in self.convolutions:
            x = layer(x)
        return self.out(tf.reduce_mean(x + self.attend(x, x), axis=1))


model = Encoder()
model(tf.zeros((4, 32, 16)))
optimizer = tf.keras.optimizers.Adam(1e-3)


@tf.function(input_signature=[tf.TensorSpec((None, None, 16)), tf.TensorSpec((None, 1))])
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


lengths = rng.integers(40, 400, size=240)
for length in lengths:
    batch = tf.constant(rng.normal(size=(4, length, 16)), tf.float32)
    loss = train_step(batch, tf.reduce_mean(batch, axis=(1, 2))[:, None])  # <-- kernels-rebuilt
print(f"loss {float(loss):.4f}")
