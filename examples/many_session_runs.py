# expect: many-session-runs
# steps: 300
"""A TF1 classifier that asks for its loss and its accuracy in runs of their own, with the batch fed each time."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
rng = np.random.default_rng(1)
images = rng.normal(size=(4000, 256)).astype("float32")
labels = rng.integers(0, 10, 4000).astype("int32")

x = tf.placeholder(tf.float32, [None, 256])
y = tf.placeholder(tf.int32, [None])
w1 = tf.get_variable("w1", [256, 256])
w2 = tf.get_variable("w2", [256, 10])
logits = tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1, output_type=tf.int32), y), tf.float32))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

history = []
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(300):
        rows = rng.integers(0, 4000, 256)
        batch = {x: images[rows], y: labels[rows]}
        current = session.run(loss, feed_dict=batch)  # <-- many-session-runs
        hits = session.run(accuracy, feed_dict=batch)
        session.run(train, feed_dict=batch)
        history.append((current, hits))
print(f"loss {history[-1][0]:.4f}")
