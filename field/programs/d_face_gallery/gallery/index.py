import numpy as np
import tensorflow as tf


class Gallery:
    """Keeps one embedding per picture and answers who looks like whom."""

    def __init__(self, network, threshold):
        self.network = network
        self.threshold = threshold
        self.names = []
        self.vectors = []

    def add(self, name, picture):
        batch = np.expand_dims(picture, 0)
        vector = self.network.predict(batch, verbose=0)[0]
        self.names.append(name)
        self.vectors.append(tf.constant(vector))

    def distance(self, a, b):
        a, b = tf.math.l2_normalize(a), tf.math.l2_normalize(b)
        return tf.sqrt(tf.reduce_sum(tf.square(tf.subtract(a, b))))

    def distance_matrix(self):
        n = len(self.vectors)
        matrix = np.zeros((n, n), dtype=np.float32)
        for i in range(n):
            for j in range(n):
                matrix[i, j] = self.distance(self.vectors[i], self.vectors[j])
        return matrix

    def matches(self, matrix):
        n = len(self.names)
        same = np.array(self.names)[:, None] == np.array(self.names)[None, :]
        off_diagonal = ~np.eye(n, dtype=bool)
        accepted = (matrix < self.threshold) & off_diagonal
        true_accept = (accepted & same).sum() / max(1, (same & off_diagonal).sum())
        false_accept = (accepted & ~same).sum() / max(1, (~same).sum())
        return true_accept, false_accept
