# expect: many-session-runs
# steps: 300
"""A TF1 classifier with smoothed labels that asks for three values on plain ones, in three runs."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
rng = np.random.default_rng(1)
images = rng.normal(size=(4000, 256)).astype("float32")
labels = rng.integers(0, 10, 4000).astype("int32")

x = tf.placeholder(tf.float32, [None, 256])
y = tf.placeholder(tf.int32, [None])
smooth = tf.placeholder(tf.float32, [])
w1 = tf.get_variable("w1", [256, 256])
w2 = tf.get_variable("w2", [256, 10])
logits = tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2)
wanted = tf.one_hot(y, 10) * (1 - smooth) + smooth / 10
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=wanted, logits=logits))
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1, output_type=tf.int32), y), tf.float32))
certainty = tf.reduce_mean(tf.reduce_max(tf.nn.softmax(logits), 1))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

history = []
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(300):
        rows = rng.integers(0, 4000, 256)
        images_now, labels_now = images[rows], labels[rows]
        session.run(train, feed_dict={x: images_now, y: labels_now, smooth: 0.1})
        plain = {x: images_now, y: labels_now, smooth: 0.0}
        current = session.run(loss, feed_dict=plain)
        hits = session.run(accuracy, feed_dict=plain)  # <-- many-session-runs
        sure = session.run(certainty, feed_dict=plain)
        history.append((current, hits, sure))
print(f"loss {history[-1][0]:.4f}")
