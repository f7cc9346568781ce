# expect: graph-growth
# steps: 250
"""Logistic regression in TF1 style; the accuracy is put together anew in every iteration."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)

rng = np.random.default_rng(1)
features = rng.normal(size=(2000, 20)).astype("float32")
labels = (features @ rng.normal(size=20) > 0).astype("float32")

x = tf.placeholder(tf.float32, [None, 20])
y = tf.placeholder(tf.float32, [None])
weights = tf.Variable(tf.zeros([20, 1]))
bias = tf.Variable(tf.zeros([1]))
logits = tf.squeeze(tf.matmul(x, weights) + bias, axis=1)
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(250):
        rows = rng.integers(0, len(features), 64)
        batch = {x: features[rows], y: labels[rows]}
        session.run(train, feed_dict=batch)
        hits = tf.equal(logits > 0, y > 0.5)  # <-- graph-growth
        accuracy = session.run(tf.reduce_mean(tf.cast(hits, tf.float32)), feed_dict=batch)
    print(f"accuracy {accuracy:.3f}")
