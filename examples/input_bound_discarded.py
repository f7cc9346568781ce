# expect: input-bound
# steps: 120
"""Each of four workers prepares the images of all four, and throws three quarters of them away."""

import numpy as np
import tensorflow as tf

WORKER, WORKERS = 1, 4
rng = np.random.default_rng(0)
images = rng.integers(0, 256, size=(3840, 96, 96, 3), dtype=np.uint8)
labels = rng.integers(0, 10, size=3840)


def prepare(image, label):
    image = tf.image.resize(tf.cast(image, tf.float32) / 255.0, (160, 160), antialias=True)
    return tf.image.resize(image, (24, 24), antialias=True), label


dataset = tf.data.Dataset.from_tensor_slices((images, labels)).map(
    prepare, num_parallel_calls=tf.data.AUTOTUNE
)
mine = dataset.shard(WORKERS, WORKER)  # <-- input-bound
batches = mine.batch(8).prefetch(tf.data.AUTOTUNE)

model = tf.keras.Sequential(
    [tf.keras.layers.Flatten(), tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(10)]
)
optimizer = tf.keras.optimizers.SGD(0.01)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(images, targets):
    with tf.GradientTape() as tape:
        loss = loss_of(targets, model(images))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for inputs, targets in batches:
    loss = train_step(inputs, targets)
print("done")
