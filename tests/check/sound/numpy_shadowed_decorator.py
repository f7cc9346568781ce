# ruff: noqa
# expect: nothing

import tensorflow as tf


def function(f):
    return f


@function
def f(x):
    return tf.reduce_sum(x).numpy()


class tfx:
    @staticmethod
    def function(f):
        return f


@tfx.function
def g(x):
    return tf.reduce_sum(x).numpy()
