# ruff: noqa
# expect: nothing

import tensorflow as tf


def loop(model, opt, data, n):
    for i, (x, labels) in enumerate(data):
        with tf.GradientTape() as tape:
            loss = 0.0
            for head, label in zip(model(x), labels):
                loss += tf.reduce_mean(tf.abs(head - label))
        grads = tape.gradient(loss, model.trainable_variables)
        if (i + 1) % n == 0:
            opt.apply_gradients(zip(grads, model.trainable_variables))
