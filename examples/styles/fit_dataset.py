# Keras `fit` on a `tf.data` pipeline.
# steps: 50
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.RandomState(0)
x, y = rng.rand(320, 8).astype("float32"), rng.rand(320, 1).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(320, seed=1).batch(32)
history = model.fit(data, epochs=5, verbose=0)  # <-- loop
print("loss", round(history.history["loss"][-1], 4))
