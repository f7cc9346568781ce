# expect: memory-peak
# steps: 32
"""All rows go through the network as one batch of predict(): its activations are the peak."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
x = rng.standard_normal((512, 32, 32, 1)).astype("float32")
test = rng.standard_normal((3000, 32, 32, 1)).astype("float32")
model = tf.keras.Sequential(
    [
        tf.keras.Input((32, 32, 1)),
        tf.keras.layers.Conv2D(24, 3, padding="same", activation="relu"),
        tf.keras.layers.Conv2D(24, 3, padding="same", activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(1),
    ]
)
model.compile("adam", "mse")
model.fit(x, x.mean((1, 2, 3)), batch_size=16, verbose=0)
predicted = model.predict(test, batch_size=len(test), verbose=0)  # <-- memory-peak
print("mean", round(float(predicted.mean()), 3))
