# expect: graph-growth
# steps: 150
"""Keras 2 without eager execution: the size of the weights is asked from the backend, which makes ops for it."""

import numpy as np
import tensorflow as tf
import tf_keras as keras
from tf_keras import backend

tf.compat.v1.disable_eager_execution()
tf.compat.v1.set_random_seed(1)
rng = np.random.default_rng(1)
features = rng.normal(size=(640, 8)).astype("float32")
targets = features.sum(axis=1, keepdims=True)

model = keras.Sequential([keras.layers.Dense(16, activation="relu", input_shape=(8,)), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")


def size_of(layer):
    return backend.eval(backend.sum(backend.square(layer.kernel)))  # <-- graph-growth


for step in range(150):
    rows = slice(step % 10 * 64, step % 10 * 64 + 64)
    model.train_on_batch(features[rows], targets[rows])
    size = size_of(model.layers[0])
print(f"size {size:.3f}")
