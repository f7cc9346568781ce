# expect: nothing
# steps: 60
"""An expensive pipeline that is fully hidden: the step takes longer than the next batch does."""

import time

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
images = rng.normal(size=(240, 16, 16, 3)).astype(np.float32)
labels = rng.integers(0, 10, size=240)


def fetch(image):
    time.sleep(0.001)
    return image


def load(image, label):
    return tf.ensure_shape(tf.numpy_function(fetch, [image], tf.float32), (16, 16, 3)), label


dataset = tf.data.Dataset.from_tensor_slices((images, labels)).map(load).batch(8).prefetch(4).repeat(2)

model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(96, 3, padding="same", activation="relu"),
        tf.keras.layers.Conv2D(96, 3, padding="same", activation="relu"),
        tf.keras.layers.Conv2D(96, 3, padding="same", activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(10),
    ]
)
optimizer = tf.keras.optimizers.SGD(0.01)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(inputs, wanted):
    with tf.GradientTape() as tape:
        loss = loss_of(wanted, model(inputs))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for inputs, wanted in dataset:
    train_step(inputs, wanted)
print("done")
