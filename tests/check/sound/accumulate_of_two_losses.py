# ruff: noqa
# expect: nothing

import tensorflow as tf


def loop(model, opt, data, n):
    for i, (x, y) in enumerate(data):
        parts = [tf.zeros_like(v) for v in model.trainable_variables]
        for scale in (1.0, 0.5):
            with tf.GradientTape() as tape:
                loss = scale * tf.reduce_mean(tf.abs(model(x) - y))
            parts = [p + g for p, g in zip(parts, tape.gradient(loss, model.trainable_variables))]
        opt.apply_gradients(zip(parts, model.trainable_variables))
