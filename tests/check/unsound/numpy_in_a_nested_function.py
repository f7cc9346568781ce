# ruff: noqa
# expect: numpy-in-function 11

import tensorflow as tf


def make(model):
    @tf.function
    def step(x):
        def inner(value):
            return value[0].numpy()

        return inner(model(x))

    return step
