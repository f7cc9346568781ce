# ruff: noqa
# expect: nothing

import tensorflow as tf


def read(path):
    return open(path.numpy(), "rb").read()


@tf.function
def load(path):
    return tf.py_function(read, [path], tf.string)


files = tf.data.Dataset.list_files("*.bin").map(
    lambda p: tf.py_function(func=read, inp=[p], Tout=tf.string)
)
