from collections import deque

import tensorflow as tf


class Gallery:
    """Recent pictures with their keys, for the nearest-neighbour printout."""

    def __init__(self, recent=4):
        self.recent = recent
        self.entries = deque()

    def add(self, images, keys):
        self.entries.append((images, keys))

    def neighbours(self):
        tail = list(self.entries)[-self.recent:]
        keys = tf.concat([k for _, k in tail], 0)
        pictures = tf.concat([p for p, _ in tail], 0)
        near = tf.math.top_k(tf.matmul(keys[:8], keys, transpose_b=True), 2).indices[:, 1]
        gap = tf.reduce_mean(tf.abs(pictures[:8] - tf.gather(pictures, near)))
        return float(gap)
