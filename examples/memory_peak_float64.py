# expect: memory-peak
# steps: 63
"""Features in float64, as NumPy makes them, for a model that computes in float32."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
x = rng.standard_normal((64_000, 1000))  # <-- memory-peak
y = (x[:, 0] > 0).astype("float32")
model = tf.keras.Sequential([tf.keras.Input((1000,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y, batch_size=1024, verbose=0)
print("loss", round(float(model.history.history["loss"][-1]), 3))
