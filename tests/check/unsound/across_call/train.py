# ruff: noqa
# expect: numpy-in-function 12

import tensorflow as tf

from logging_of_steps import show


@tf.function
def step(x):
    loss = tf.reduce_mean(x)
    show(loss)
    return loss
