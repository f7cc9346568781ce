"""Galaxy morphology from survey stamps. Stamps are packed in one raw file per field."""
import os
import tempfile

import numpy as np
import tensorflow as tf

STAMP = 96
FIELDS, PER_FIELD = 6, 700
BATCH = 64


def write_fields(folder):
    rng = np.random.default_rng(2)
    files = []
    for f in range(FIELDS):
        path = os.path.join(folder, f"field_{f}.raw")
        stamps = rng.integers(0, 255, (PER_FIELD, STAMP * STAMP * 3), dtype=np.uint8)
        stamps[:, 0] = np.arange(PER_FIELD) % 3
        stamps.tofile(path)
        files.append(path)
    return files


def decode(raw):
    flat = tf.io.decode_raw(raw, tf.uint8)
    label = tf.cast(flat[0], tf.int32)
    stamp = tf.reshape(flat, (STAMP, STAMP, 3))
    return tf.cast(stamp, tf.float32) / 127.5 - 1.0, label


def input_fn(files):
    ds = tf.data.FixedLengthRecordDataset(files, STAMP * STAMP * 3)
    ds = ds.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.shuffle(buffer_size=10000)
    return ds.batch(BATCH, drop_remainder=True).prefetch(1)


def morphology_net():
    return tf.keras.Sequential([
        tf.keras.Input((STAMP, STAMP, 3)),
        tf.keras.layers.Conv2D(16, 5, strides=4, activation="relu"),
        tf.keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(3),
    ])


with tempfile.TemporaryDirectory() as folder:
    ds = input_fn(write_fields(folder))
    net = morphology_net()
    net.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    net.fit(ds, epochs=3, verbose=2)
