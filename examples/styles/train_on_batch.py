# A loop over `train_on_batch`.
# steps: 60
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.RandomState(0)
x, y = rng.rand(320, 8).astype("float32"), rng.rand(320, 1).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
for step in range(60):  # <-- loop
    rows = rng.randint(0, 320, 32)
    loss = model.train_on_batch(x[rows], y[rows])
print("loss", round(float(np.ravel(loss)[0]), 4))
