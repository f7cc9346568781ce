# expect: memory-peak
# also: input-bound, iterator-rebuilt
# steps: 94
"""A dataset whose only element is all of the data: every op of the map holds all of it."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
x = rng.integers(0, 255, (12_000, 64, 64, 1), dtype=np.uint8)
y = rng.integers(0, 2, 12_000).astype(np.float32)


def normalize(images, labels):
    images = tf.cast(images, tf.float32) / 255.0
    mean, variance = tf.nn.moments(images, axes=[1, 2], keepdims=True)
    return (images - mean) / tf.sqrt(variance + 1e-5), labels


data = tf.data.Dataset.from_tensors((x, y))  # <-- memory-peak
data = data.map(normalize).unbatch().batch(128)
model = tf.keras.Sequential(
    [
        tf.keras.Input((64, 64, 1)),
        tf.keras.layers.Conv2D(4, 5, strides=4, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(1),
    ]
)
model.compile("sgd", "mse")
model.fit(data, verbose=0)
print("done")
