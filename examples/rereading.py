# expect: rereading
# steps: 60
"""JPEG files are decoded and scaled down again in every epoch, although the result is small and always the same."""

import pathlib
import tempfile

import numpy as np
import tensorflow as tf

folder = pathlib.Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
for number in range(80):
    picture = np.kron(rng.integers(0, 255, size=(48, 48, 3)), np.ones((16, 16, 1))).astype(np.uint8)
    (folder / f"{number}.jpg").write_bytes(tf.io.encode_jpeg(picture).numpy())
paths = sorted(str(path) for path in folder.iterdir())
labels = rng.integers(0, 5, size=len(paths))


def decode(path, label):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (32, 32)) / 255.0, label


dataset = (
    tf.data.Dataset.from_tensor_slices((paths, labels))
    .map(decode, num_parallel_calls=tf.data.AUTOTUNE)  # <-- rereading
    .shuffle(80, seed=1)
    .batch(8)
    .prefetch(tf.data.AUTOTUNE)
)

model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(5)])
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(dataset, epochs=6, verbose=0)
print("done")
