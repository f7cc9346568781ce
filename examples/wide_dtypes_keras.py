# expect: wide-dtypes
# also: compute-bound
# steps: 60
"""Keras was told to use float64 for everything."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
keras.backend.set_floatx("float64")  # <-- wide-dtypes
rng = np.random.default_rng(0)
images = rng.normal(size=(480, 32, 32, 3))
labels = rng.integers(0, 10, size=(480,))

model = keras.Sequential(
    [
        keras.Input((32, 32, 3)),
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(10),
    ]
)
model.compile(optimizer="sgd", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history = model.fit(images, labels, batch_size=16, epochs=2, verbose=0)
print("loss", history.history["loss"][-1])
