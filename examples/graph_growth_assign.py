# expect: graph-growth
# steps: 250
"""A learning rate that is lowered in every step by a new assign op."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
rng = np.random.default_rng(1)
features = rng.normal(size=(1000, 10)).astype("float32")
targets = features.sum(axis=1, keepdims=True)

x = tf.placeholder(tf.float32, [None, 10])
y = tf.placeholder(tf.float32, [None, 1])
rate = tf.Variable(0.1, trainable=False)
weights = tf.Variable(tf.zeros([10, 1]))
loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - y))
train = tf.train.GradientDescentOptimizer(rate).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(250):
        rows = rng.integers(0, 1000, 50)
        session.run(rate.assign(0.1 / (1 + 0.01 * step)))  # <-- graph-growth
        _, value = session.run([train, loss], feed_dict={x: features[rows], y: targets[rows]})
    print(f"loss {value:.5f}")
