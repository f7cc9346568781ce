import argparse
import glob
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

FEATURES = {"png": tf.io.FixedLenFeature([], tf.string), "kind": tf.io.FixedLenFeature([], tf.int64)}


def write_slides(folder, slides, per_slide):
    rng = np.random.default_rng(8)
    yy, xx = np.mgrid[0:64, 0:64]
    for s in range(slides):
        with tf.io.TFRecordWriter(os.path.join(folder, "slide%02d.tfrecord" % s)) as w:
            for _ in range(per_slide):
                kind = int(rng.integers(4))
                cx, cy = rng.integers(20, 44, 2)
                r = 6 + 4 * kind
                disk = ((xx - cx) ** 2 + (yy - cy) ** 2 < r * r) * 120
                img = np.clip(disk[..., None] + 40 + 30 * np.arange(3), 0, 255).astype(np.uint8)
                w.write(tf.train.Example(features=tf.train.Features(feature={
                    "png": tf.train.Feature(bytes_list=tf.train.BytesList(value=[tf.io.encode_png(img, 1).numpy()])),
                    "kind": tf.train.Feature(int64_list=tf.train.Int64List(value=[kind])),
                })).SerializeToString())


def decode(raw, size):
    item = tf.io.parse_single_example(raw, FEATURES)
    img = tf.io.decode_png(item["png"], channels=3)
    img = tf.image.resize(img, [size, size]) / 255.0
    return tf.image.random_flip_left_right(img), item["kind"]


def input_fn(folder, size, batch, total):
    files = tf.data.Dataset.from_tensor_slices(sorted(glob.glob(os.path.join(folder, "*.tfrecord"))))
    ds = files.interleave(tf.data.TFRecordDataset, cycle_length=4)
    ds = ds.map(lambda raw: decode(raw, size), num_parallel_calls=2)
    ds = ds.shuffle(total, seed=4)
    return ds.batch(batch).prefetch(2)


def classifier(size):
    tf.keras.utils.set_random_seed(4)
    L = tf.keras.layers
    m = tf.keras.Sequential([tf.keras.Input((size, size, 3)), L.Conv2D(8, 5, strides=4, activation="relu"),
                             L.Conv2D(24, 3, strides=2, activation="relu"), L.GlobalAveragePooling2D(), L.Dense(4)])
    m.compile(tf.keras.optimizers.Adam(2e-3), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return m


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--slides", type=int, default=8)
    ap.add_argument("--per-slide", type=int, default=320)
    ap.add_argument("--size", type=int, default=192)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=3)
    a = ap.parse_args()
    folder = tempfile.mkdtemp()
    try:
        write_slides(folder, a.slides, a.per_slide)
        model = classifier(a.size)
        model.fit(input_fn(folder, a.size, a.batch, a.slides * a.per_slide), epochs=a.epochs, verbose=2)
    finally:
        shutil.rmtree(folder)
