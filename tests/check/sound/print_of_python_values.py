# ruff: noqa
# expect: nothing

import tensorflow as tf


@tf.function
def f(x, n):
    y = tf.reduce_sum(x)
    print("layers", n, y.shape, y.dtype)
    return y
