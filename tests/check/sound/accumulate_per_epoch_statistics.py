# ruff: noqa
# expect: nothing

import tensorflow as tf


def loop(model, opt, data):
    for epoch in range(3):
        seen = 0
        for x, y in data:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.abs(model(x) - y))
            opt.apply_gradients(
                zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
            )
            seen += 1
            if seen % 10 == 0:
                print(epoch, seen)
