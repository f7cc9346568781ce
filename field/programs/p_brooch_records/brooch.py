"""Brooch typology classifier from TFRecords of museum photographs (JPEG)."""
import argparse
import os
import tempfile

import keras
import numpy as np
import tensorflow as tf
from keras import layers

AUTOTUNE = tf.data.AUTOTUNE


def write_shards(folder, n, size, n_types, shards=4, seed=0):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:size, :size].astype(np.float32) / size - 0.5
    files = [os.path.join(folder, "brooch-%d.tfrecord" % s) for s in range(shards)]
    writers = [tf.io.TFRecordWriter(f) for f in files]
    for i in range(n):
        label = int(rng.integers(n_types))
        r = np.hypot(xx * (1 + 0.1 * label), yy)
        ring = np.exp(-((r - 0.1 - 0.03 * label) ** 2) / 0.002)
        img = np.clip(60 + 150 * ring[..., None] * rng.uniform(0.5, 1, 3) + rng.normal(0, 6, (size, size, 1)), 0, 255)
        jpeg = tf.io.encode_jpeg(img.astype(np.uint8), quality=85).numpy()
        ex = tf.train.Example(features=tf.train.Features(feature={
            "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[jpeg])),
            "type": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
        }))
        writers[i % shards].write(ex.SerializeToString())
    for w in writers:
        w.close()
    return files


def parse(record):
    feats = tf.io.parse_single_example(record, {
        "image": tf.io.FixedLenFeature([], tf.string),
        "type": tf.io.FixedLenFeature([], tf.int64),
    })
    return feats["image"], feats["type"]


def decode(jpeg, label):
    img = tf.io.decode_jpeg(jpeg, channels=3)
    return tf.image.convert_image_dtype(img, tf.float32), label


def augment(size):
    def fn(img, label):
        img = tf.image.random_flip_left_right(img)
        img = tf.image.random_crop(img, [size, size, 3])
        return tf.image.random_brightness(img, 0.1), label
    return fn


def train_input(files, args):
    ds = tf.data.TFRecordDataset(files)
    ds = ds.map(parse, num_parallel_calls=AUTOTUNE)
    ds = ds.map(decode, num_parallel_calls=AUTOTUNE)
    ds = ds.shuffle(args.shuffle, seed=1)
    ds = ds.repeat()
    ds = ds.map(augment(args.crop), num_parallel_calls=AUTOTUNE)
    return ds.batch(args.batch).prefetch(1)


def classifier(crop, n_types):
    return keras.Sequential([
        keras.Input((crop, crop, 3)),
        layers.Conv2D(16, 5, strides=4, activation="relu"),
        layers.Conv2D(32, 3, strides=2, activation="relu"),
        layers.Conv2D(48, 3, strides=2, activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dropout(0.2),
        layers.Dense(n_types, activation="softmax"),
    ])


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--photos", type=int, default=1600)
    ap.add_argument("--size", type=int, default=256)
    ap.add_argument("--crop", type=int, default=224)
    ap.add_argument("--batch", type=int, default=16)
    ap.add_argument("--shuffle", type=int, default=1500)
    ap.add_argument("--epochs", type=int, default=2)
    args = ap.parse_args()

    keras.utils.set_random_seed(9)
    files = write_shards(tempfile.mkdtemp(), args.photos, args.size, 7)
    model = classifier(args.crop, 7)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(train_input(files, args), steps_per_epoch=args.photos // args.batch, epochs=args.epochs, verbose=2)
