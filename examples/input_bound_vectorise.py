# expect: input-bound
# steps: 120
"""A tiny function is called for each of 512 rows of a batch: the calls cost far more than the arithmetic."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
table = rng.normal(size=(61_440, 24)).astype(np.float32)
targets = table.sum(axis=1, keepdims=True)


def scale(row, target):
    return tf.clip_by_value((row - 0.1) * 2.0, -3.0, 3.0), target


dataset = tf.data.Dataset.from_tensor_slices((table, targets)).map(scale).batch(512)  # <-- input-bound

model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(dataset, epochs=1, verbose=0)
print("done")
