# ruff: noqa
# expect: numpy-in-function 12

import tensorflow as tf
from tensorflow.keras.optimizers import Adam

opt = Adam(1e-3)


@tf.function
def rate(x):
    return x * opt.learning_rate.numpy()
