# expect: tiny-batches
# steps: 1500
"""Keras fit on batches of four rows."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(6000, 16)).astype("float32")
y = (x[:, :1] > 0).astype("float32")

model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy")
history = model.fit(x, y, batch_size=4, epochs=1, verbose=0)  # <-- tiny-batches
print("loss", history.history["loss"][-1])
