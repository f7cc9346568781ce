# ruff: noqa
# expect: numpy-in-function 10

import tensorflow as tf


@tf.function
def roll(values):
    def add(carry, value):
        print_me = carry.numpy()
        return carry + value

    return tf.scan(add, values)
