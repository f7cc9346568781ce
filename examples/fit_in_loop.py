# expect: fit-in-loop
# also: iterator-rebuilt
# steps: 120
"""One call of fit() per epoch: each call prepares its input and its loop again."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
features = rng.normal(size=(256, 16)).astype("float32")
labels = (features.sum(axis=1) > 0).astype("float32")

model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy")
best = np.inf
for epoch in range(15):
    history = model.fit(features, labels, batch_size=32, verbose=0)  # <-- fit-in-loop
    best = min(best, history.history["loss"][-1])
print(f"best loss {best:.4f}")
