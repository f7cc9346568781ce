# ruff: noqa
# expect: nothing

import tensorflow as tf


@tf.function
def f(x):
    print("tracing with", x)
    print("shape", x.shape)
    tf.print("running with", x)
    return x


@tf.function
def g(x):
    print("traced")
    return x + 1
