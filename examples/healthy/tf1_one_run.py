# expect: nothing
# steps: 400
"""A TF1 loop as it should be: one run per step, small feeds of the right type, and an evaluation now and then."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
rng = np.random.default_rng(1)
features = rng.normal(size=(2000, 64)).astype("float32")
labels = rng.integers(0, 5, 2000).astype("int32")

x = tf.placeholder(tf.float32, [None, 64])
y = tf.placeholder(tf.int32, [None])
keep = tf.placeholder_with_default(1.0, [])
hidden = tf.nn.relu(tf.matmul(x, tf.get_variable("w1", [64, 256])))
hidden = tf.nn.dropout(hidden, rate=1 - keep)
logits = tf.matmul(hidden, tf.get_variable("w2", [256, 5]))
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1, output_type=tf.int32), y), tf.float32))
train = tf.train.AdamOptimizer(1e-3).minimize(loss)
initialise = tf.global_variables_initializer()
tf.get_default_graph().finalize()

with tf.Session() as session:
    session.run(initialise)
    for step in range(400):
        rows = rng.integers(0, 1600, 256)
        _, value = session.run([train, loss], {x: features[rows], y: labels[rows], keep: 0.9})
        if step % 100 == 99:
            score = session.run(accuracy, {x: features[1600:], y: labels[1600:]})
            print(f"step {step}: loss {value:.3f}, accuracy {score:.3f}")
