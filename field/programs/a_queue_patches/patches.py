"""Texture patches from TFRecord files through input queues (the pre-tf.data way)."""
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
SIZE, CLASSES, BATCH, STEPS = 32, 6, 64, 70


def write_records(folder, files=3, per_file=300):
    rng = np.random.RandomState(0)
    names = []
    for f in range(files):
        name = os.path.join(folder, "patches-%d.tfrecord" % f)
        with tf.python_io.TFRecordWriter(name) as w:
            for _ in range(per_file):
                label = rng.randint(CLASSES)
                img = (127 + 40 * np.sin(np.arange(SIZE * SIZE) * (label + 1) / 9.0)
                       + 20 * rng.randn(SIZE * SIZE)).clip(0, 255).astype(np.uint8)
                w.write(tf.train.Example(features=tf.train.Features(feature={
                    "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[img.tobytes()])),
                    "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
                })).SerializeToString())
        names.append(name)
    return names


def inputs(names):
    queue = tf.train.string_input_producer(names)
    _, serialized = tf.TFRecordReader().read(queue)
    f = tf.parse_single_example(serialized, {
        "image": tf.FixedLenFeature([], tf.string), "label": tf.FixedLenFeature([], tf.int64)})
    img = tf.reshape(tf.decode_raw(f["image"], tf.uint8), [SIZE, SIZE, 1])
    img = tf.cast(img, tf.float32) / 127.5 - 1.0
    return tf.train.shuffle_batch([img, f["label"]], BATCH, capacity=600, min_after_dequeue=200, num_threads=1)


def conv(x, n, name):
    with tf.variable_scope(name):
        w = tf.get_variable("w", [3, 3, int(x.shape[-1]), n])
        b = tf.get_variable("b", [n], initializer=tf.zeros_initializer())
    return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME"), b))


def network(x):
    h = tf.nn.max_pool2d(conv(conv(x, 24, "c1"), 24, "c2"), 2, 2, "SAME")
    h = tf.nn.max_pool2d(conv(conv(h, 48, "c3"), 48, "c4"), 2, 2, "SAME")
    h = tf.reduce_mean(h, axis=[1, 2])
    return tf.matmul(h, tf.get_variable("out", [48, CLASSES]))


def main():
    with tempfile.TemporaryDirectory() as folder:
        images, labels = inputs(write_records(folder))
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=network(images)))
        train = tf.train.AdamOptimizer(1e-3).minimize(loss)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(sess=sess, coord=coord)
            for step in range(STEPS):
                _, value = sess.run([train, loss])
                if step % 10 == 0:
                    print("step", step, "loss", value)
            coord.request_stop()
            coord.join(threads)


if __name__ == "__main__":
    main()
