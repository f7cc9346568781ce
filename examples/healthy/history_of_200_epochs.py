# expect: nothing
# steps: 800
"""Keras fit over 200 short epochs: its history grows, by a few numbers for each."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(1024, 128)).astype("float32")
y = x[:, :1] * 2
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(512).cache().repeat().prefetch(4)
layers = [keras.layers.Dense(512, activation="relu"), keras.layers.Dense(512, activation="relu"), keras.layers.Dense(1)]
model = keras.Sequential([keras.Input((128,)), *layers])
model.compile(optimizer="sgd", loss="mse", metrics=["mae"])
history = model.fit(data, steps_per_epoch=4, epochs=200, verbose=0)
print("loss", round(history.history["loss"][-1], 3))
