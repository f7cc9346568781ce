# ruff: noqa
# expect: removed-argument 12

import tensorflow as tf

opt = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam())


def step(model, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
        scaled = opt.get_scaled_loss(loss)
    return tape.gradient(scaled, model.trainable_variables)
