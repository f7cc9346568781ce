# expect: graph-growth
# also: summary-cost
# steps: 150
"""Summaries are made and merged again in every step before they are written."""

import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
rng = np.random.default_rng(1)
features = rng.normal(size=(1000, 10)).astype("float32")
targets = features.sum(axis=1, keepdims=True)

x = tf.placeholder(tf.float32, [None, 10])
y = tf.placeholder(tf.float32, [None, 1])
weights = tf.Variable(tf.zeros([10, 1]))
loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - y))
train = tf.train.GradientDescentOptimizer(0.05).minimize(loss)

with tf.Session() as session, tempfile.TemporaryDirectory() as folder:
    writer = tf.summary.FileWriter(folder)
    session.run(tf.global_variables_initializer())
    for step in range(150):
        rows = rng.integers(0, 1000, 50)
        batch = {x: features[rows], y: targets[rows]}
        session.run(train, feed_dict=batch)
        summary = tf.summary.scalar("loss", loss)  # <-- graph-growth
        writer.add_summary(session.run(summary, feed_dict=batch), step)
    writer.close()
