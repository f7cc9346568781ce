# expect: nothing
"""A search over three models, each with a session of its own."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(1)
features = rng.normal(size=(6400, 20)).astype("float32")
targets = features[:, :3].sum(axis=1)

for width in (32, 64, 128):
    tf.keras.backend.clear_session()
    model = tf.keras.Sequential(
        [tf.keras.Input((20,)), tf.keras.layers.Dense(width, activation="relu"), tf.keras.layers.Dense(1)]
    )
    model.compile(optimizer="adam", loss="mse", steps_per_execution=20)
    history = model.fit(features, targets, batch_size=64, epochs=12, verbose=0)
    print(width, f"{history.history['loss'][-1]:.4f}")
