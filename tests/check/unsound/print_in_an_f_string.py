# ruff: noqa
# expect: numpy-in-function 9

import tensorflow as tf


def describe(x):
    norm = tf.norm(x)
    print(f"norm {norm}")
    return norm


fast = tf.function(describe)
