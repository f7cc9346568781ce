# expect: input-bound
# steps: 120
"""Images are read from a slow store, one at a time, while the model waits."""

import time

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
keys = np.arange(480)
labels = rng.integers(0, 10, size=480)


def download(key):
    """Stands for an object store: the answer takes a while, and costs no processor."""
    time.sleep(0.005)
    return np.random.default_rng(int(key)).normal(size=(64,)).astype(np.float32)


def load(key, label):
    image = tf.numpy_function(download, [key], tf.float32)
    return tf.ensure_shape(image, (64,)), label


dataset = (
    tf.data.Dataset.from_tensor_slices((keys, labels))
    .map(load)  # <-- input-bound
    .batch(8)
    .repeat(2)
)

model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(10)])
optimizer = tf.keras.optimizers.SGD(0.01)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(images, targets):
    with tf.GradientTape() as tape:
        loss = loss_of(targets, model(images))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for images, targets in dataset:
    loss = train_step(images, targets)
print("done")
