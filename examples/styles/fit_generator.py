# Keras `fit` on a Python generator.
# steps: 40
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.RandomState(0)
x, y = rng.rand(320, 8).astype("float32"), rng.rand(320, 1).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")


def batches():
    while True:
        rows = rng.randint(0, 320, 32)
        yield x[rows], y[rows]


history = model.fit(batches(), steps_per_epoch=20, epochs=2, verbose=0)  # <-- loop
print("epochs", len(history.history["loss"]))
