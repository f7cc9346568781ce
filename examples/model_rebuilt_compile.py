# expect: model-rebuilt
# steps: 96
"""A learning-rate schedule by hand: compile() in every epoch, and with it a new training function."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(1)
features = rng.normal(size=(384, 16)).astype("float32")
targets = features.mean(axis=1)
model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])


def set_rate(rate):
    model.compile(optimizer=tf.keras.optimizers.SGD(rate), loss="mse")  # <-- model-rebuilt


rate = 0.1
for epoch in range(8):
    set_rate(rate)
    history = model.fit(features, targets, batch_size=32, verbose=0)
    rate *= 0.9
print(f"loss {history.history['loss'][-1]:.4f}")
