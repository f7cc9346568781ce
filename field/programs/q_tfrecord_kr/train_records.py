"""Keras 2 (tf_keras) classifier that reads TFRecords, as in our production job, with a stand-in data set."""
import argparse
import glob
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf
import tf_keras as keras

parser = argparse.ArgumentParser()
parser.add_argument("--examples", type=int, default=9000)
parser.add_argument("--shards", type=int, default=6)
parser.add_argument("--side", type=int, default=96)
parser.add_argument("--batch_size", type=int, default=64)
parser.add_argument("--shuffle_size", type=int, default=9000)
parser.add_argument("--epochs", type=int, default=2)
FLAGS = parser.parse_args()

CLASSES = 6
keras.utils.set_random_seed(3)


def write_shards(folder):
    rng = np.random.default_rng(3)
    pool = []
    for k in range(240):
        lab = k % CLASSES
        small = rng.random((6, 6, 3)).astype("float32")
        small[..., lab % 3] *= 0.4 + 0.2 * (lab // 3)
        img = tf.image.resize(small, (FLAGS.side, FLAGS.side), method="bicubic")
        img = tf.cast(tf.clip_by_value(img, 0, 1) * 255, tf.uint8)
        pool.append((tf.io.encode_jpeg(img, quality=85).numpy(), lab))
    for s in range(FLAGS.shards):
        with tf.io.TFRecordWriter(os.path.join(folder, "part-%03d.tfrecord" % s)) as w:
            for i in range(FLAGS.examples // FLAGS.shards):
                raw, lab = pool[rng.integers(len(pool))]
                w.write(tf.train.Example(features=tf.train.Features(feature={
                    "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[raw])),
                    "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[lab])),
                })).SerializeToString())


SPEC = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}


def parse(record):
    ex = tf.io.parse_single_example(record, SPEC)
    img = tf.io.decode_jpeg(ex["image"], channels=3)
    img = tf.reshape(tf.image.convert_image_dtype(img, tf.float32), (FLAGS.side, FLAGS.side, 3))
    return img, ex["label"]


def flip(img, label):
    return tf.image.random_flip_left_right(img), label


def input_fn(files):
    ds = tf.data.Dataset.from_tensor_slices(files)
    ds = ds.interleave(tf.data.TFRecordDataset, cycle_length=FLAGS.shards, num_parallel_calls=2)
    ds = ds.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.shuffle(FLAGS.shuffle_size)
    ds = ds.map(flip, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.batch(FLAGS.batch_size, drop_remainder=True)
    return ds.prefetch(tf.data.AUTOTUNE)


def network():
    m = keras.Sequential(name="small")
    m.add(keras.layers.Conv2D(12, 5, strides=4, activation="relu", input_shape=(FLAGS.side, FLAGS.side, 3)))
    m.add(keras.layers.BatchNormalization())
    m.add(keras.layers.Conv2D(24, 3, strides=2, activation="relu"))
    m.add(keras.layers.GlobalAveragePooling2D())
    m.add(keras.layers.Dense(CLASSES, activation="softmax"))
    return m


if __name__ == "__main__":
    folder = tempfile.mkdtemp(prefix="records_")
    try:
        write_shards(folder)
        files = sorted(glob.glob(os.path.join(folder, "*.tfrecord")))
        model = network()
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        stop = keras.callbacks.EarlyStopping(monitor="loss", patience=3)
        h = model.fit(input_fn(files), epochs=FLAGS.epochs, verbose=2, callbacks=[stop])
        model.save_weights(os.path.join(folder, "final.weights.h5"))
        print("accuracy %.3f after %d steps" % (h.history["accuracy"][-1], len(h.epoch) * (FLAGS.examples // FLAGS.batch_size)))
    finally:
        shutil.rmtree(folder)
