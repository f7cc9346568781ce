# ruff: noqa
# expect: nothing

import tensorflow as tf


@tf.function
def step(x):
    return tf.reduce_mean(x)


for _ in range(3):
    print(step(tf.ones([3])).numpy())
