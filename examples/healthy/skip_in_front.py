# expect: nothing
# steps: 180
"""Elements are left out where they cost nothing: in front of the work on them, few, or cheap ones."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
images = rng.normal(size=(480, 24, 24, 3)).astype(np.float32)
labels = rng.integers(0, 10, size=480)


def prepare(image, label):
    large = tf.image.resize(image, (96, 96), antialias=True)
    return tf.image.resize(large, (24, 24), antialias=True), label


def scale(image, label):
    return image / 2.0, label


dataset = tf.data.Dataset.from_tensor_slices((images, labels))
held_out = 240
elements = [
    dataset.skip(held_out).map(prepare, num_parallel_calls=tf.data.AUTOTUNE),
    dataset.take(248).map(prepare, num_parallel_calls=tf.data.AUTOTUNE).skip(8),
    dataset.map(scale).skip(held_out),
]

model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(64, 3, padding="same", activation="relu"),
        tf.keras.layers.Conv2D(64, 3, padding="same", activation="relu"),
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


for part in [part for part in elements for epoch in range(2)]:
    for inputs, wanted in part.batch(8).prefetch(tf.data.AUTOTUNE):
        train_step(inputs, wanted)
print("done")
