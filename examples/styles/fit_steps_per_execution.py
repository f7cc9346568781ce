# Keras `fit` with five batches per call: a group is one step.
# steps: 10
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.RandomState(0)
x, y = rng.rand(320, 8).astype("float32"), rng.rand(320, 1).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse", steps_per_execution=5)
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
history = model.fit(data, epochs=5, verbose=0)  # <-- loop
print("loss", round(history.history["loss"][-1], 4))
