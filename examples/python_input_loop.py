# expect: python-input
# steps: 100
"""A training loop that drives its own generator: nothing computes while the next batch is made."""

import numpy as np
import tensorflow as tf


class Sampler:
    def __init__(self, points, size):
        self.points = points
        self.size = size
        self.random = np.random.default_rng(0)

    def neighbours(self, index):
        return np.argsort(np.abs(self.points - self.points[index]).sum(axis=1))[1:9]  # <-- python-input

    def batches(self, count):
        for _ in range(count):
            chosen = self.random.integers(0, len(self.points), size=self.size)
            near = np.stack([self.points[self.neighbours(index)].mean(axis=0) for index in chosen])
            yield self.points[chosen], near.astype(np.float32)


points = np.random.default_rng(1).normal(size=(3000, 16)).astype(np.float32)
model = tf.keras.Sequential([tf.keras.layers.Dense(128, activation="relu"), tf.keras.layers.Dense(16)])
optimizer = tf.keras.optimizers.Adam()


@tf.function
def train_step(inputs, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(inputs) - targets))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for inputs, targets in Sampler(points, 64).batches(100):
    train_step(tf.constant(inputs), tf.constant(targets))
print("done")
