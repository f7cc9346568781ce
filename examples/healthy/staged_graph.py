# expect: nothing
# steps: 200, 200
"""A graph that is built in stages: a layer is trained, then the next one is put on top and trained too."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
rng = np.random.default_rng(1)
features = rng.normal(size=(1000, 20)).astype("float32")
labels = (features.sum(axis=1) > 0).astype("int64")

x = tf.placeholder(tf.float32, [None, 20])
y = tf.placeholder(tf.int64, [None])


def stage(name, inputs, width):
    with tf.variable_scope(name):
        hidden = tf.nn.relu(tf.matmul(inputs, tf.get_variable("hidden", [inputs.shape[1], width])))
        logits = tf.matmul(hidden, tf.get_variable("output", [width, 2]))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    weights = tf.trainable_variables(name)
    return hidden, loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=weights)


def batch():
    rows = rng.integers(0, 1000, 50)
    return {x: features[rows], y: labels[rows]}


session = tf.Session()
hidden, loss, train = stage("first", x, 32)
session.run(tf.global_variables_initializer())
for step in range(200):
    session.run([train, loss], feed_dict=batch())

hidden, loss, train = stage("second", tf.stop_gradient(hidden), 16)
session.run(tf.variables_initializer(tf.global_variables("second")))
for step in range(200):
    _, value = session.run([train, loss], feed_dict=batch())
print(f"loss {value:.4f}")
