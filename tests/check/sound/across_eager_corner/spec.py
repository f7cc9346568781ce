# ruff: noqa
# expect: nothing

import tensorflow as tf


def read(path):
    data = tf.io.read_file(path)
    if tf.executing_eagerly():
        return data.numpy()
    return data
