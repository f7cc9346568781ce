# expect: wide-dtypes
# also: compute-bound
# steps: 60
"""Weights that were drawn with NumPy, whose numbers are float64."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
data = tf.data.Dataset.from_tensor_slices(rng.normal(size=(3840, 256))).batch(64)


class Network:
    def __init__(self, *sizes):
        self.weights = []
        for rows, columns in zip(sizes, sizes[1:]):
            self.weights.append(tf.Variable(rng.normal(0, 0.05, size=(rows, columns))))  # <-- wide-dtypes

    @tf.function
    def train(self, batch):
        with tf.GradientTape() as tape:
            hidden = batch
            for weights in self.weights:
                hidden = tf.tanh(tf.matmul(hidden, weights))
            loss = tf.reduce_mean((hidden - batch) ** 2)
        for weights, grad in zip(self.weights, tape.gradient(loss, self.weights)):
            weights.assign_sub(0.1 * grad)
        return loss


network = Network(256, 1536, 1024, 256)
for batch in data:
    loss = network.train(batch)
print("loss", float(loss))
