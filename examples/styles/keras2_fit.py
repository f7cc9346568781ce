# `tf_keras` (Keras 2): fit.
# steps: 50
import numpy as np
import tensorflow as tf
import tf_keras as keras

keras.utils.set_random_seed(1)
rng = np.random.RandomState(0)
x, y = rng.rand(320, 8).astype("float32"), rng.rand(320, 1).astype("float32")
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
history = model.fit(x, y, batch_size=32, epochs=5, verbose=0)  # <-- loop
print("loss", round(history.history["loss"][-1], 4))
