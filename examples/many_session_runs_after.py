# expect: many-session-runs
# steps: 200
"""A TF1 trainer in a class: the loss is evaluated in a run of its own after each update."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)


class Classifier:
    def __init__(self, size):
        self.x = tf.placeholder(tf.float32, [None, size])
        self.y = tf.placeholder(tf.float32, [None, 1])
        hidden = tf.nn.relu(tf.matmul(self.x, tf.get_variable("w1", [size, 512])))
        logits = tf.matmul(hidden, tf.get_variable("w2", [512, 1]))
        self.loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=self.y, logits=logits))
        self.train = tf.train.AdamOptimizer(1e-3).minimize(self.loss)

    def step(self, session, inputs, targets):
        feed = {self.x: inputs, self.y: targets}
        session.run(self.train, feed_dict=feed)
        return self.loss.eval(feed_dict=feed, session=session)  # <-- many-session-runs


rng = np.random.default_rng(1)
inputs = rng.normal(size=(256, 128)).astype("float32")
classifier = Classifier(128)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(200):
        rows = rng.permutation(256)
        value = classifier.step(session, inputs[rows], inputs[rows, :1] > 0)
print(f"loss {value:.4f}")
