# Keras `fit` that runs eagerly.
# steps: 20
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.RandomState(0)
x, y = rng.rand(320, 8).astype("float32"), rng.rand(320, 1).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse", run_eagerly=True)
history = model.fit(x, y, batch_size=32, epochs=2, verbose=0)  # <-- loop
print("epochs", len(history.history["loss"]))
