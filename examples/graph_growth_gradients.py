# expect: graph-growth
# steps: 120
"""The size of the gradient is watched; its ops, with all of a backward pass, are made again for every step."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
rng = np.random.default_rng(1)
features = rng.normal(size=(1000, 10)).astype("float32")
targets = np.sin(features.sum(axis=1, keepdims=True))

x = tf.placeholder(tf.float32, [None, 10])
y = tf.placeholder(tf.float32, [None, 1])
first = tf.Variable(tf.random_normal([10, 16], stddev=0.3))
second = tf.Variable(tf.random_normal([16, 1], stddev=0.3))
loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.tanh(tf.matmul(x, first)), second) - y))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

session = tf.Session()
session.run(tf.global_variables_initializer())
for step in range(120):
    rows = rng.integers(0, 1000, 50)
    batch = {x: features[rows], y: targets[rows]}
    session.run(train, feed_dict=batch)
    gradients = tf.gradients(loss, [first, second])  # <-- graph-growth
    size = session.run(tf.global_norm(gradients), feed_dict=batch)
print(f"gradient {size:.4f}")
