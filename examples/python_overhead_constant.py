# expect: python-overhead
# steps: 150
"""Token counts of each batch are made in a Python loop inside a class that trains."""

import numpy as np
import tensorflow as tf


class Trainer:
    def __init__(self, words, topics):
        self.words = words
        self.weights = tf.Variable(tf.zeros((words, topics)))
        self.rng = np.random.default_rng(3)

    @tf.function
    def update(self, counts, labels):
        with tf.GradientTape() as tape:
            logits = tf.matmul(counts, self.weights)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        self.weights.assign_sub(0.1 * tape.gradient(loss, self.weights))
        return loss

    def count(self, documents):
        counts = np.zeros((len(documents), self.words), dtype="float32")
        for row, document in enumerate(documents):
            for word in document:
                counts[row, word] += 1  # <-- python-overhead
        return counts

    def train(self, steps):
        for _ in range(steps):
            documents = self.rng.integers(0, self.words, size=(64, 400))
            labels = self.rng.integers(0, 8, size=64)
            loss = self.update(tf.constant(self.count(documents)), tf.constant(labels))
        return float(loss)


print("loss", Trainer(2000, 8).train(150))
