# Keras `fit` on a `PyDataset`.
# steps: 30
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.RandomState(0)
x, y = rng.rand(320, 8).astype("float32"), rng.rand(320, 1).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")


class Batches(tf.keras.utils.PyDataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        rows = slice(32 * index, 32 * index + 32)
        return x[rows], y[rows]


history = model.fit(Batches(), epochs=3, verbose=0)  # <-- loop
print("epochs", len(history.history["loss"]))
