# ruff: noqa
# expect: accumulation-reset 19

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
rmsprop = tf.keras.optimizers.RMSprop()
summed = None


def run(dataset, n):
    held = [tf.zeros_like(v) for v in model.trainable_variables]
    for i, (x, y) in dataset.enumerate():
        with tf.GradientTape() as t:
            value = tf.reduce_sum(model(x) - y)
        held = [tf.add(a, b) for a, b in zip(held, t.gradient(value, model.trainable_variables))]
        if tf.math.floormod(i + 1, n) == 0:
            rmsprop.apply_gradients(zip(held, model.trainable_variables))
        held = [tf.zeros_like(v) for v in model.trainable_variables]
