# ruff: noqa
# expect: nothing

import tensorflow as tf


def train(model, optimizer, batches, parts):
    for step, (x, y) in enumerate(batches):
        sums = [tf.zeros_like(v) for v in model.trainable_variables]
        for a, b in zip(tf.split(x, parts), tf.split(y, parts)):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(a) - b)) / parts
            sums = [s + g for s, g in zip(sums, tape.gradient(loss, model.trainable_variables))]
        optimizer.apply_gradients(zip(sums, model.trainable_variables))
        if step % 100 == 0:
            print(step)
