# ruff: noqa
# expect: numpy-in-function 12

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])


@tf.function
def train_step(x, y):
    loss = tf.reduce_mean(tf.square(model(x) - y))
    print("loss is", loss)
    return loss
