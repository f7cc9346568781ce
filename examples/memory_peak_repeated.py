# expect: memory-peak
# also: input-bound, rereading, native-growth
# steps: 120
"""The cache stands behind the repetition: it holds twelve passes over the same pictures."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
pictures = rng.integers(0, 255, (200, 128, 128, 3), dtype=np.uint8)
labels = rng.integers(0, 4, 200)


def prepare(picture, label):
    return tf.image.per_image_standardization(picture), label


data = (
    tf.data.Dataset.from_tensor_slices((pictures, labels))
    .repeat(12)
    .map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
    .cache()  # <-- memory-peak
    .batch(20)
    .prefetch(1)
)
model = tf.keras.Sequential(
    [
        tf.keras.Input((128, 128, 3)),
        tf.keras.layers.Conv2D(16, 7, strides=2, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(4, activation="softmax"),
    ]
)
model.compile("sgd", "sparse_categorical_crossentropy")
for x, y in data:
    model.train_on_batch(x, y)
print("done")
