# expect: input-bound
# steps: 90
"""The same disease inside Keras's fit, where the wait is hidden in the compiled step: random crops, one at a time."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
images = rng.integers(0, 255, size=(240, 96, 96, 3)).astype(np.uint8)
labels = rng.integers(0, 10, size=240)


def augment(image, label):
    image = tf.image.resize(tf.cast(image, tf.float32), (256, 256))
    image = tf.image.random_crop(image, (224, 224, 3)) / 255.0
    image = tf.image.random_saturation(tf.image.random_hue(image, 0.1), 0.8, 1.2)
    return tf.image.resize(image, (32, 32)), label


def pipeline():
    data = tf.data.Dataset.from_tensor_slices((images, labels))
    data = data.shuffle(240)
    data = data.map(augment)  # <-- input-bound
    return data.batch(16)


model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(8, 3, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(10),
    ]
)
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(pipeline(), epochs=6, verbose=0)
print("done")
