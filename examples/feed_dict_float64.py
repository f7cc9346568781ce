# expect: feed-dict
# steps: 120
"""TF1 training on NumPy's own float64: every batch is converted to float32 on its way in."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


class Trainer:
    def __init__(self, images):
        self.images = images
        self.x = tf.placeholder(tf.float32, [None, 4096])
        weights = tf.get_variable("weights", [4096, 1], initializer=tf.zeros_initializer())
        self.loss = tf.reduce_mean(tf.square(tf.matmul(self.x, weights) - 1.0))
        self.train = tf.train.GradientDescentOptimizer(1e-5).minimize(self.loss)

    def fit(self, session, epochs, size):
        for _ in range(epochs):
            for start in range(0, len(self.images), size):
                session.run(self.train, {self.x: self.images[start : start + size]})  # <-- feed-dict


trainer = Trainer(np.random.default_rng(1).normal(size=(4096, 4096)))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    trainer.fit(session, epochs=30, size=1024)
print("done")
