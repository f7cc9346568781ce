# expect: graph-growth
# steps: 200
"""A trainer in TF1 style whose metric is built three calls below the loop, anew at every call."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)


class Metrics:
    def __init__(self, logits, labels):
        self.logits = logits
        self.labels = labels

    def error_rate(self):
        wrong = tf.not_equal(tf.argmax(self.logits, axis=1), self.labels)  # <-- graph-growth
        return tf.reduce_mean(tf.cast(wrong, tf.float32))


class Trainer:
    def __init__(self, inputs, classes):
        self.x = tf.placeholder(tf.float32, [None, inputs])
        self.y = tf.placeholder(tf.int64, [None])
        weights = tf.Variable(tf.zeros([inputs, classes]))
        logits = tf.matmul(self.x, weights)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.y, logits=logits)
        self.train = tf.train.AdamOptimizer(0.01).minimize(tf.reduce_mean(loss))
        self.metrics = Metrics(logits, self.y)

    def measure(self, session, feed):
        return session.run(self.metrics.error_rate(), feed_dict=feed)

    def step(self, session, features, labels):
        feed = {self.x: features, self.y: labels}
        session.run(self.train, feed_dict=feed)
        return self.measure(session, feed)


def main():
    rng = np.random.default_rng(1)
    features = rng.normal(size=(2000, 20)).astype("float32")
    labels = np.argmax(features @ rng.normal(size=(20, 5)), axis=1)
    trainer = Trainer(20, 5)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(200):
            rows = rng.integers(0, len(features), 64)
            error = trainer.step(session, features[rows], labels[rows])
    print(f"error rate {error:.3f}")


main()
