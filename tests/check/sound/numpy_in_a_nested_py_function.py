# ruff: noqa
# expect: nothing

import tensorflow as tf


@tf.function
def load(x):
    def inner(value):
        return value.numpy().sum()

    return tf.py_function(inner, [x], tf.float32) + tf.py_function(
        lambda v: v.numpy(), [x], tf.float32
    )
