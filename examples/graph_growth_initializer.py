# expect: graph-growth
# steps: 200
"""A streaming metric is set back in every step by an initializer that is made there."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
rng = np.random.default_rng(1)
features = rng.normal(size=(1000, 10)).astype("float32")
labels = (features.sum(axis=1) > 0).astype("float32")

x = tf.placeholder(tf.float32, [None, 10])
y = tf.placeholder(tf.float32, [None])
weights = tf.Variable(tf.zeros([10, 1]))
logits = tf.squeeze(tf.matmul(x, weights), axis=1)
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
_, accuracy = tf.metrics.accuracy(y, tf.cast(logits > 0, tf.float32))

session = tf.Session()
session.run(tf.global_variables_initializer())
for step in range(200):
    session.run(tf.local_variables_initializer())  # <-- graph-growth
    rows = rng.integers(0, 1000, 50)
    _, value = session.run([train, accuracy], feed_dict={x: features[rows], y: labels[rows]})
print(f"accuracy {value:.3f}")
