# expect: nothing
# steps: 1000
"""An evaluation that puts its ops into the graph when it runs, which is twice in all."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
rng = np.random.default_rng(1)
features = rng.normal(size=(1000, 20)).astype("float32")
labels = (features.sum(axis=1) > 0).astype("float32")

x = tf.placeholder(tf.float32, [None, 20])
y = tf.placeholder(tf.float32, [None])
weights = tf.Variable(tf.zeros([20, 1]))
logits = tf.squeeze(tf.matmul(x, weights), axis=1)
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(1000):
        rows = rng.integers(0, 1000, 50)
        session.run(train, feed_dict={x: features[rows], y: labels[rows]})
        if step % 500 == 499:
            hits = tf.cast(tf.equal(logits > 0, y > 0.5), tf.float32)
            accuracy = session.run(tf.reduce_mean(hits), feed_dict={x: features, y: labels})
            print(f"step {step} accuracy {accuracy:.3f}")
