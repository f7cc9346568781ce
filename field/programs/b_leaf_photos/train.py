# Leaf disease classifier on photos in class folders.
import os
import tempfile

import numpy as np
import tensorflow as tf

CLASSES = ["healthy", "rust", "scab"]
PER_CLASS = 90
IMG = 64
BATCH = 32
EPOCHS = 14


def make_photos(root):
    rng = np.random.default_rng(0)
    for label, name in enumerate(CLASSES):
        os.makedirs(os.path.join(root, name))
        for i in range(PER_CLASS):
            base = rng.integers(0, 255, (40, 40, 3)).astype("uint8")
            base[..., label] //= 2
            photo = base.repeat(16, axis=0).repeat(16, axis=1)
            with open(os.path.join(root, name, f"{i:04d}.jpg"), "wb") as f:
                f.write(tf.io.encode_jpeg(photo, quality=90).numpy())


def load(path, label):
    img = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    img = tf.image.resize(img, (IMG, IMG), method="area")
    return img / 255.0, label


def augment(img, label):
    img = tf.image.random_flip_left_right(img)
    return img, label


root = tempfile.mkdtemp(prefix="leaves_")
make_photos(root)
paths, labels = [], []
for k, name in enumerate(CLASSES):
    for f in sorted(os.listdir(os.path.join(root, name))):
        paths.append(os.path.join(root, name, f))
        labels.append(k)
order = np.random.default_rng(1).permutation(len(paths))
paths = [paths[i] for i in order]
labels = [labels[i] for i in order]

ds = tf.data.Dataset.from_tensor_slices((paths, labels))
ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE)
ds = ds.shuffle(len(paths)).map(augment).batch(BATCH).prefetch(tf.data.AUTOTUNE)

model = tf.keras.Sequential(
    [
        tf.keras.Input((IMG, IMG, 3)),
        tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
        tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(len(CLASSES)),
    ]
)
model.compile(
    "adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"]
)
model.fit(ds, epochs=EPOCHS, verbose=2)
