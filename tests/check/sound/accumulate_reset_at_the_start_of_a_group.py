# ruff: noqa
# expect: nothing

import tensorflow as tf


def loop(model, opt, data, n):
    sums = None
    for i, (x, y) in enumerate(data):
        if i % n == 0:
            sums = [tf.zeros_like(v) for v in model.trainable_variables]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(model(x) - y))
        sums = [s + g for s, g in zip(sums, tape.gradient(loss, model.trainable_variables))]
        if i % n == n - 1:
            opt.apply_gradients(zip(sums, model.trainable_variables))
