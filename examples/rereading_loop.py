# expect: rereading
# steps: 60
"""The same in a loop of one's own, with the shuffle in front of the decoding: the cache must go between the two."""

import pathlib
import tempfile

import numpy as np
import tensorflow as tf

folder = pathlib.Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
for number in range(80):
    picture = np.kron(rng.integers(0, 255, size=(40, 40, 3)), np.ones((16, 16, 1))).astype(np.uint8)
    (folder / f"{number}.png").write_bytes(tf.io.encode_png(picture).numpy())


def decode(path):
    image = tf.io.decode_png(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (24, 24)) / 255.0


def pictures():
    data = tf.data.Dataset.list_files(str(folder / "*.png"), shuffle=False)
    data = data.shuffle(80, seed=3)
    data = data.map(decode)  # <-- rereading
    return data.batch(8)


model = tf.keras.Sequential(
    [tf.keras.layers.Flatten(), tf.keras.layers.Dense(16), tf.keras.layers.Dense(24 * 24 * 3)]
)
optimizer = tf.keras.optimizers.SGD(0.01)


@tf.function
def train_step(images):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(images) - tf.reshape(images, (tf.shape(images)[0], -1))))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


data = pictures()
for epoch in range(6):
    for images in data:
        train_step(images)
print("done")
