# steps: 700
"""A TF1 loop that goes on for long, with a list of fetches, and a summary of its own every hundred steps."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
rng = np.random.default_rng(1)
x = tf.placeholder(tf.float32, [None, 8])
w = tf.get_variable("w", [8, 1])
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
size = tf.reduce_sum(tf.square(w))

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(700):  # <-- loop
        batch = rng.normal(size=(32 if step % 7 else 16, 8)).astype("float32")
        _, value = session.run([train, loss], feed_dict={x: batch})
        if step % 100 == 0:
            print(f"{step}: {value:.4f} {session.run(size):.4f}")
