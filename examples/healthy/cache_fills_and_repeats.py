# expect: nothing
# steps: 160
"""One iterator goes round and round: its first pass decodes and fills a cache, the later ones wait for nothing."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
scans = [tf.io.encode_png(rng.integers(0, 255, size=(160, 160, 3)).astype(np.uint8)).numpy() for _ in range(256)]


def decode(scan):
    return tf.image.resize(tf.io.decode_png(scan, channels=3), (16, 16)) / 255.0


data = tf.data.Dataset.from_tensor_slices(scans).map(decode).cache().repeat().batch(32, drop_remainder=True).prefetch(2)

inner = [tf.keras.layers.Dense(1536, activation="relu") for _ in range(3)]
outer = tf.keras.layers.Dense(16 * 16 * 3)
network = tf.keras.Sequential([*inner, outer])
optimizer = tf.keras.optimizers.SGD(1e-3)


@tf.function
def train_step(batch):
    with tf.GradientTape() as tape:
        flat = tf.reshape(batch, (32, 16 * 16 * 3))
        loss = tf.reduce_mean((network(flat) - flat) ** 2)
    weights = network.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


for batch in data.take(160):
    loss = train_step(batch)
print("done")
