# expect: graph-growth
# steps: 160
"""A model class in TF1 style whose method builds the accuracy anew at every call, and runs it."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)


class Classifier:
    def __init__(self, inputs, classes):
        self.x = tf.placeholder(tf.float32, [None, inputs])
        self.y = tf.placeholder(tf.int64, [None])
        self.build(inputs, classes)
        self.session = tf.Session()
        self.session.run(tf.global_variables_initializer())

    def build(self, inputs, classes):
        weights = tf.Variable(tf.random_normal([inputs, classes], stddev=0.1))
        self.logits = tf.matmul(self.x, weights)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.y, logits=self.logits)
        self.train = tf.train.GradientDescentOptimizer(0.03).minimize(tf.reduce_mean(loss))

    def accuracy(self, features, labels):
        right = tf.equal(tf.argmax(self.logits, axis=1), self.y)  # <-- graph-growth
        share = tf.reduce_mean(tf.cast(right, tf.float32))
        return self.session.run(share, feed_dict={self.x: features, self.y: labels})

    def step(self, features, labels):
        self.session.run(self.train, feed_dict={self.x: features, self.y: labels})
        return self.accuracy(features, labels)


def main():
    rng = np.random.default_rng(1)
    features = rng.normal(size=(2000, 20)).astype("float32")
    labels = np.argmax(features @ rng.normal(size=(20, 5)), axis=1)
    model = Classifier(20, 5)
    for _ in range(160):
        rows = rng.integers(0, len(features), 64)
        share = model.step(features[rows], labels[rows])
    print(f"accuracy {share:.3f}")


main()
