# ruff: noqa
# expect: nothing

import tensorflow as tf

opt = tf.keras.optimizers.Adam(1e-3, gradient_accumulation_steps=8)


@tf.function
def step(model, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    opt.apply_gradients(
        zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    )
    return loss
