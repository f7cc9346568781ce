# %% [markdown]
# Which loom wove it? Classify fabric swatches from scanner strips.

# %%
import os
import tempfile

import numpy as np
import tensorflow as tf

EPOCHS, BATCH, SWATCHES, SIDE, LOOMS = 6, 40, 800, 160, 5
tf.keras.utils.set_random_seed(31)

# %% write the scans
folder = tempfile.mkdtemp(prefix="weave")
rng = np.random.default_rng(31)
yy, xx = np.mgrid[0:SIDE, 0:SIDE]
labels = rng.integers(0, LOOMS, SWATCHES)
paths = []
for i, loom in enumerate(labels):
    pitch = 5 + loom
    img = 120 + 60 * np.sin(2 * np.pi * xx / pitch + rng.uniform(0, 6)) + 60 * np.sin(2 * np.pi * yy / (pitch + 1))
    img = np.clip(img, 0, 255).astype(np.uint8)
    paths.append(os.path.join(folder, "%04d.png" % i))
    tf.io.write_file(paths[-1], tf.io.encode_png(np.repeat(img[..., None], 3, axis=2)))

# %% pipeline
def load(path, label):
    img = tf.io.decode_png(tf.io.read_file(path), channels=3)
    img = tf.image.convert_image_dtype(img, tf.float32)
    img = tf.image.resize(img, [SIDE, SIDE], method="bicubic")
    return tf.image.per_image_standardization(img), label


train = (tf.data.Dataset.from_tensor_slices((paths, labels))
         .repeat(EPOCHS)
         .map(load, num_parallel_calls=tf.data.AUTOTUNE)
         .cache()
         .batch(BATCH, drop_remainder=True)
         .prefetch(1))

# %% model
model = tf.keras.Sequential([
    tf.keras.Input((SIDE, SIDE, 3)),
    tf.keras.layers.Conv2D(10, 7, strides=4, activation="relu"),
    tf.keras.layers.Conv2D(20, 3, strides=2, activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(LOOMS, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])

# %% train
seen = 0
for x, y in train:
    loss, acc = model.train_on_batch(x, y)
    seen += len(y)
    if seen % SWATCHES == 0:
        print("epoch %d  loss %.3f  accuracy %.3f" % (seen // SWATCHES, loss, acc))

# %%
tf.io.gfile.rmtree(folder)
