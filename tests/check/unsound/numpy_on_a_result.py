# ruff: noqa
# expect: numpy-in-function 10

import tensorflow as tf


@tf.function
def step(x):
    y = tf.reduce_mean(x)
    return y.numpy()
