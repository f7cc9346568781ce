"""Nearest-neighbour probe: how well do the embeddings of one view find the class of another picture?"""
import tensorflow as tf


def unit(x):
    return tf.math.l2_normalize(x, axis=-1)


def nearest(queries, bank, k):
    """Indices of the k rows of `bank` that are closest to each query."""
    gaps = queries[:, tf.newaxis, :] - bank[tf.newaxis, :, :]
    distances = tf.reduce_sum(tf.square(gaps), axis=-1)
    return tf.math.top_k(-distances, k=k).indices


def vote(neighbours, classes):
    counts = tf.reduce_sum(tf.one_hot(neighbours, classes), axis=1)
    return tf.argmax(counts, axis=1)


class Probe:
    def __init__(self, bank, bank_labels, queries, query_labels, classes, k=9):
        self.bank, self.bank_labels = bank, bank_labels
        self.queries, self.query_labels = queries, query_labels
        self.classes, self.k = classes, k

    def accuracy(self, encoder):
        bank = unit(encoder.predict(self.bank, batch_size=128, verbose=0))
        queries = unit(encoder.predict(self.queries, batch_size=128, verbose=0))
        labels = tf.gather(self.bank_labels, nearest(queries, bank, self.k))
        return float(tf.reduce_mean(tf.cast(vote(labels, self.classes) == self.query_labels, tf.float32)))
