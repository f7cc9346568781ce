# ruff: noqa
# expect: accumulation-reset 12

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.01)


def one_update(micro_batches):
    for x, y in micro_batches:
        gathered = [tf.zeros_like(v) for v in model.trainable_variables]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        gathered = [a + b for a, b in zip(gathered, tape.gradient(loss, model.trainable_variables))]
    opt.apply_gradients(zip(gathered, model.trainable_variables))
