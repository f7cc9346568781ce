# ruff: noqa
# expect: nothing

import tensorflow as tf


def show(x):
    return tf.reduce_sum(x).numpy()


@tf.function
def f(x):
    return x * 2


print(show(f(tf.ones([2]))))
handlers = {"show": show, "f": f}
