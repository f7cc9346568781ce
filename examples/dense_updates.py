# expect: dense-updates
# steps: 100
"""A recommender with a large embedding table, of which a batch uses a few hundred rows."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
users, items = 60_000, 32
visits = rng.integers(0, users, size=(6400, 4))
bought = rng.integers(0, items, size=(6400,))

model = keras.Sequential(
    [
        keras.Input((4,), dtype="int32"),
        keras.layers.Embedding(users, 32),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(items),
    ]
)
optimizer = keras.optimizers.Adam(1e-3)  # <-- dense-updates
model.compile(optimizer=optimizer, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history = model.fit(visits, bought, batch_size=64, epochs=1, verbose=0)
print("loss", history.history["loss"][-1])
