# ruff: noqa
# expect: nothing

import tensorflow as tf

v = tf.Variable(1.0)


@tf.function
def f(x):
    with tf.init_scope():
        start = v.numpy()
    return x + start
