# expect: input-bound
# steps: 120
"""Records are parsed once and kept, and one iterator goes round and round; what stands behind the cache is the wait."""

import os
import tempfile

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
path = os.path.join(tempfile.mkdtemp(), "leaves.tfrecord")
with tf.io.TFRecordWriter(path) as writer:
    for _ in range(320):
        leaf = rng.integers(0, 255, size=(96, 96, 3)).astype(np.uint8)
        feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[leaf.tobytes()]))
        writer.write(tf.train.Example(features=tf.train.Features(feature={"leaf": feature})).SerializeToString())


def parse(record):
    found = tf.io.parse_single_example(record, {"leaf": tf.io.FixedLenFeature([], tf.string)})
    return tf.cast(tf.reshape(tf.io.decode_raw(found["leaf"], tf.uint8), (96, 96, 3)), tf.float32)


def distort(leaf):
    leaf = tf.image.random_crop(tf.image.resize(leaf, (192, 192)), (160, 160, 3))
    leaf = tf.image.random_contrast(tf.image.random_hue(leaf / 255.0, 0.1), 0.8, 1.2)
    return tf.image.resize(leaf, (48, 48))


data = tf.data.TFRecordDataset(path).map(parse, num_parallel_calls=tf.data.AUTOTUNE).cache()
data = data.shuffle(320).repeat()
data = data.map(distort)  # <-- input-bound
data = data.batch(16).prefetch(2)

encoder = tf.keras.layers.Dense(32, activation="relu")
decoder = tf.keras.layers.Dense(48 * 48 * 3)
optimizer = tf.keras.optimizers.SGD(1e-3)


@tf.function
def train_step(leaves):
    with tf.GradientTape() as tape:
        flat = tf.reshape(leaves, (-1, 48 * 48 * 3))
        loss = tf.reduce_mean((decoder(encoder(flat)) - flat) ** 2)
    weights = encoder.trainable_variables + decoder.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


for leaves in data.take(120):
    loss = train_step(leaves)
print("done")
