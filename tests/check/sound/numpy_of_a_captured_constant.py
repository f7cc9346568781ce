# ruff: noqa
# expect: nothing

import tensorflow as tf

scale = tf.constant(3.0)


@tf.function
def step(x):
    return x * scale.numpy()
