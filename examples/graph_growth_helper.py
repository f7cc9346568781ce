# expect: graph-growth
# steps: 200
"""A warm-up in TF1 style whose helper makes an assign op for the new rate at every call, and runs it."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)

x = tf.placeholder(tf.float32, [None, 10])
y = tf.placeholder(tf.float32, [None, 1])
weights = tf.Variable(tf.random_normal([10, 1], stddev=0.1))
rate = tf.Variable(0.0, trainable=False)
loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - y))
train = tf.train.GradientDescentOptimizer(rate).minimize(loss)


def set_rate(session, value):
    session.run(rate.assign(value))  # <-- graph-growth


def train_step(session, step, features, targets):
    set_rate(session, 0.1 * min(1.0, (step + 1) / 100))
    return session.run([train, loss], feed_dict={x: features, y: targets})[1]


rng = np.random.default_rng(1)
rows = rng.normal(size=(1000, 10)).astype("float32")
sums = rows.sum(axis=1, keepdims=True) + rng.normal(size=(1000, 1))

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(200):
        batch = rng.integers(0, 1000, 50)
        value = train_step(session, step, rows[batch], sums[batch])
    print(f"loss {value:.5f}")
