# expect: nothing
# steps: 40
"""Features by calls of the model with 400 rows each: the size of the chunks was chosen."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
pictures = rng.standard_normal((1600, 64, 64, 1)).astype("float32")
backbone = tf.keras.Sequential(
    [
        tf.keras.Input((64, 64, 1)),
        tf.keras.layers.Conv2D(24, 3, padding="same", activation="relu"),
        tf.keras.layers.MaxPooling2D(8),
        tf.keras.layers.Flatten(),
    ]
)
features = np.empty((len(pictures), backbone.output_shape[1]), np.float32)
for start in range(0, len(pictures), 400):
    rows = pictures[start : start + 400]
    features[start : start + 400] = backbone(rows, training=False).numpy()
probe = tf.keras.Sequential([tf.keras.Input(features.shape[1:]), tf.keras.layers.Dense(1)])
probe.compile("adam", "mse")
probe.fit(features, pictures.mean((1, 2, 3)), batch_size=40, verbose=0)
print("mean", round(float(features.mean()), 3))
