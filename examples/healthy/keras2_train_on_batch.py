# expect: nothing
# steps: 80
"""Keras 2, one batch at a time: it makes an iterator for each of them, which is its own affair and costs little."""

import numpy as np
import tensorflow as tf
import tf_keras as keras

tf.random.set_seed(0)
rng = np.random.default_rng(0)
spectra = rng.normal(size=(4096, 512)).astype(np.float32)
ages = rng.uniform(size=(4096, 1)).astype(np.float32)

model = keras.Sequential([
    keras.layers.Dense(1024, activation="relu"),
    keras.layers.Dense(1024, activation="relu"),
    keras.layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.SGD(1e-3), loss="mse")

for step in range(80):
    rows = rng.integers(0, len(spectra), 512)
    loss = model.train_on_batch(spectra[rows], ages[rows])
print("loss", round(float(loss), 3))
