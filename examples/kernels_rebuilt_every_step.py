# expect: kernels-rebuilt
# steps: 60
"""A helper that makes every step reproducible, and every step twenty times as long."""

import tensorflow as tf


def reproducible():
    tf.keras.utils.set_random_seed(1)  # <-- kernels-rebuilt


class Trainer:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(1)])
        self.optimizer = tf.keras.optimizers.SGD(0.01)

    @tf.function
    def step(self, x, y):
        with tf.GradientTape() as tape:
            noisy = x + tf.random.normal(tf.shape(x), stddev=0.01)
            loss = tf.reduce_mean(tf.square(self.model(noisy, training=True) - y))
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return loss

    def train(self, x, y, steps):
        for _ in range(steps):
            reproducible()
            loss = self.step(x, y)
        return loss


data = tf.random.normal((256, 32))
print(float(Trainer().train(data, tf.reduce_mean(data, axis=1, keepdims=True), 60)))
