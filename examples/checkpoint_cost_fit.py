# expect: checkpoint-cost
# steps: 160
"""Keras fit with a checkpoint of the whole model after every few batches."""
import os
import tempfile

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(2560, 128)).astype("float32")
y = x[:, :1] * 2
model = keras.Sequential([keras.Input((128,)), keras.layers.Dense(512, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
with tempfile.TemporaryDirectory() as folder:
    keeper = keras.callbacks.ModelCheckpoint(os.path.join(folder, "{epoch}.keras"), save_freq=4)  # <-- checkpoint-cost
    model.fit(x, y, batch_size=64, epochs=4, verbose=0, callbacks=[keeper])
