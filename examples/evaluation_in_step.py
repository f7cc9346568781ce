# expect: evaluation-in-step
# steps: 320
"""Keras fit that validates after every epoch of 40 steps: each fortieth step seems to be stuck."""

import keras
import numpy as np

keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
features = rng.normal(size=(2560, 32)).astype("float32")
targets = features[:, :4].sum(axis=1)
held_out = rng.normal(size=(20480, 32)).astype("float32")
held_out_targets = held_out[:, :4].sum(axis=1)

model = keras.Sequential(
    [keras.Input((32,)), keras.layers.Dense(512, activation="relu"), keras.layers.Dense(512, activation="relu"), keras.layers.Dense(1)]
)
model.compile(optimizer=keras.optimizers.SGD(0.001), loss="mse")
history = model.fit(features, targets, batch_size=64, epochs=8, validation_data=(held_out, held_out_targets), verbose=0)  # <-- evaluation-in-step
print("validation loss", round(history.history["val_loss"][-1], 3))
