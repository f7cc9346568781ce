# expect: memory-peak
# steps: 40
"""Features of all pictures by one call of the model: the activations of all rows are the peak."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
pictures = rng.standard_normal((3200, 32, 32, 1)).astype("float32")
backbone = tf.keras.Sequential(
    [
        tf.keras.Input((32, 32, 1)),
        tf.keras.layers.Conv2D(24, 3, padding="same", activation="relu"),
        tf.keras.layers.Conv2D(24, 3, padding="same", activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
    ]
)
features = backbone(pictures, training=False).numpy()  # <-- memory-peak
probe = tf.keras.Sequential([tf.keras.Input((24,)), tf.keras.layers.Dense(1)])
probe.compile("adam", "mse")
probe.fit(features, pictures.mean((1, 2, 3)), batch_size=80, verbose=0)
print("mean", round(float(features.mean()), 3))
