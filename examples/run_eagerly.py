# expect: run-eagerly
# steps: 96
"""A model that was compiled with a flag for debugging, which was left on."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
features = rng.normal(size=(1024, 16)).astype("float32")
labels = (features.sum(axis=1) > 0).astype("float32")

model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", run_eagerly=True)  # <-- run-eagerly
model.fit(features, labels, batch_size=32, epochs=3, verbose=0)
