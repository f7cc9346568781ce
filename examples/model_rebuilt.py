# expect: model-rebuilt
# steps: 180
"""Cross-validation that makes the same model anew for every fold."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(1)
features = rng.normal(size=(600, 20)).astype("float32")
targets = features[:, :3].sum(axis=1)
folds = np.array_split(rng.permutation(600), 6)

scores = []
for held_out in folds:
    model = tf.keras.Sequential(  # <-- model-rebuilt
        [
            tf.keras.Input((20,)),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer="adam", loss="mse")
    rest = np.setdiff1d(np.arange(600), held_out)
    history = model.fit(features[rest], targets[rest], batch_size=50, epochs=3, verbose=0)
    scores.append(history.history["loss"][-1])
print(f"mean loss {np.mean(scores):.3f}")
