# ruff: noqa
# expect: nothing

import tensorflow as tf


@tf.function
def f(x):
    y = tf.reduce_sum(x)
    if tf.executing_eagerly():
        print(y.numpy())
    if not tf.inside_function():
        return y.numpy()
    return y
