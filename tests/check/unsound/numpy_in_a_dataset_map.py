# ruff: noqa
# expect: numpy-in-function 8

import tensorflow as tf


def load(path):
    return tf.io.read_file(path.numpy())


files = tf.data.Dataset.list_files("data/*.png")
images = files.shuffle(100).map(load, num_parallel_calls=tf.data.AUTOTUNE)
