"""One step of training, for any model."""

import tensorflow as tf

from eager_step_modules_helpers.losses import distance


def learn(model, optimizer, batch, wanted):
    weights = model.trainable_variables
    with tf.GradientTape() as tape:
        loss = distance(model(batch, training=True), wanted)
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss
