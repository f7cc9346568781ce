# ruff: noqa
# expect: accumulation-reset 16

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Nadam()
step = tf.Variable(0, dtype=tf.int64)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    new = tape.gradient(loss, model.trainable_variables)
    sums = tf.nest.map_structure(tf.zeros_like, new)
    sums = [s + g for s, g in zip(sums, new)]
    step.assign_add(1)
    if step % 4 == 0:
        opt.apply_gradients(zip(sums, model.trainable_variables))
    return loss
