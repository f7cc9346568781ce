# ruff: noqa
# expect: accumulation-reset 16

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
adam = tf.keras.optimizers.Adam()


def epoch(dataset, n):
    acc = [tf.zeros_like(w) for w in model.trainable_weights]
    for x, y in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(model(x) - y))
        acc = [a + g for a, g in zip(acc, tape.gradient(loss, model.trainable_weights))]
        if (batch_number + 1) % n == 0:
            adam.apply_gradients(zip(acc, model.trainable_weights))
            acc = [tf.zeros_like(w) for w in model.trainable_weights]
