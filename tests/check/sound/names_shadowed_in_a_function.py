# ruff: noqa
# expect: nothing

import keras
import tensorflow as tf


def make(tf, keras):
    @tf.function
    def f(x):
        return x.numpy()

    return keras.optimizers.Adam(lr=0.1), f


def other():
    keras = __import__("json")
    return keras.callbacks.ModelCheckpoint("x", period=1)
