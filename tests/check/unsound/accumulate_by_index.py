# ruff: noqa
# expect: accumulation-reset 11

import tensorflow as tf
from tensorflow.keras import optimizers as O


def train(model, batches, every):
    optimizer = O.SGD(0.1)
    for step, (x, y) in enumerate(batches):
        sums = [tf.zeros_like(v) for v in model.trainable_variables]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        for place, gradient in enumerate(tape.gradient(loss, model.trainable_variables)):
            sums[place] += gradient
        if step % every == every - 1:
            optimizer.apply_gradients(zip(sums, model.trainable_variables))
