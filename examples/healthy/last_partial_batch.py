# expect: nothing
# steps: 240
"""fit() on data that the batch size does not divide: one more trace or none, once."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
features = rng.normal(size=(7500, 64)).astype("float32")
labels = (features.sum(axis=1) > 0).astype("float32")
model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(256, activation="relu"),
        tf.keras.layers.Dense(256, activation="relu"),
        tf.keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy")
model.fit(features, labels, batch_size=256, epochs=8, verbose=0)
