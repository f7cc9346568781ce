# expect: feed-dict
# steps: 150
"""TF1 regression on rows that were read into Python lists: every batch is turned into an array number by number."""

import random

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
random.seed(1)
rows = [[random.gauss(0, 1) for _ in range(300)] for _ in range(2048)]
targets = [[sum(row[:10])] for row in rows]

x = tf.placeholder(tf.float32, [None, 300])
y = tf.placeholder(tf.float32, [None, 1])
w1 = tf.get_variable("w1", [300, 32])
w2 = tf.get_variable("w2", [32, 1])
loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2) - y))
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(150):
        start = step * 1024 % 2048
        feed = {x: rows[start : start + 1024], y: targets[start : start + 1024]}
        _, value = session.run([train, loss], feed_dict=feed)  # <-- feed-dict
print(f"loss {value:.4f}")
