"""Thumbnail classifier reading a TFRecord shard."""
import os
import tempfile
import time

import numpy as np
import tensorflow as tf

flags = {
    "records": 9000,
    "size": 72,
    "classes": 6,
    "batch": 32,
    "steps": 60,
    "shuffle": 8000,
    "shard": os.path.join(tempfile.mkdtemp(prefix="thumbs_"), "train-00000.tfrecord"),
}


def write_shard(path, n, size, classes):
    rng = np.random.RandomState(4)
    encoded = []
    for i in range(60):
        c = i % classes
        img = rng.randint(0, 80, (size, size, 3)) + np.array([20 * c, 100, 160 - 20 * c])
        encoded.append((tf.io.encode_jpeg(img.astype(np.uint8), quality=70).numpy(), c))
    with tf.io.TFRecordWriter(path) as w:
        for i in range(n):
            data, c = encoded[rng.randint(60)]
            w.write(tf.train.Example(features=tf.train.Features(feature={
                "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[data])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[c])),
            })).SerializeToString())


def parse(record):
    ex = tf.io.parse_single_example(record, {
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    })
    img = tf.io.decode_jpeg(ex["image"], channels=3)
    img = tf.image.convert_image_dtype(img, tf.float32)
    img = tf.image.random_flip_left_right(img)
    return tf.ensure_shape(img, (flags["size"], flags["size"], 3)), ex["label"]


def train_input():
    ds = tf.data.TFRecordDataset(flags["shard"])
    ds = ds.repeat()
    ds = ds.map(parse, num_parallel_calls=2)
    ds = ds.shuffle(flags["shuffle"])
    return ds.batch(flags["batch"]).prefetch(1)


write_shard(flags["shard"], flags["records"], flags["size"], flags["classes"])
t0 = time.time()
model = tf.keras.Sequential([
    tf.keras.Input((flags["size"], flags["size"], 3)),
    tf.keras.layers.Conv2D(8, 5, strides=3, activation="relu"),
    tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
    tf.keras.layers.GlobalMaxPooling2D(),
    tf.keras.layers.Dense(flags["classes"]),
])
model.compile(tf.keras.optimizers.Adam(1e-3),
              tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(train_input(), steps_per_epoch=flags["steps"], epochs=1, verbose=2)
print("trained in %.1f s" % (time.time() - t0))
