# expect: graph-growth
# also: checkpoint-cost, file-growth
# steps: 100
"""A saver is made whenever the weights are saved."""

import os
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
bias = tf.Variable(tf.zeros([1]))
loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) + bias - y))
train = tf.train.AdamOptimizer(0.05).minimize(loss)


def keep(session, folder):
    saver = tf.train.Saver()  # <-- graph-growth
    saver.save(session, os.path.join(folder, "model"), write_meta_graph=False)


with tf.Session() as session, tempfile.TemporaryDirectory() as folder:
    session.run(tf.global_variables_initializer())
    for step in range(100):
        rows = rng.integers(0, 1000, 50)
        _, value = session.run([train, loss], feed_dict={x: features[rows], y: targets[rows]})
        keep(session, folder)
    print(f"loss {value:.5f}")
