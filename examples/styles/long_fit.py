# steps: 900
"""Keras fit for three epochs of three hundred steps, with validation between them."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
x = rng.normal(size=(2400, 8)).astype("float32")
y = x.sum(axis=1, keepdims=True)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
history = model.fit(x, y, batch_size=8, epochs=3, validation_data=(x[:64], y[:64]), verbose=0)  # <-- loop
print([f"{value:.6f}" for value in history.history["loss"]])
