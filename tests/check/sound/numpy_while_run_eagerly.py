# ruff: noqa
# expect: nothing

import tensorflow as tf

tf.config.run_functions_eagerly(True)


@tf.function
def f(x):
    return x.numpy()
