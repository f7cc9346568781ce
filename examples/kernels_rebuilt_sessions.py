# expect: kernels-rebuilt
# steps: 240
"""TF1 clients that take turns at training one model, each in a session of its own."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
rng = np.random.default_rng(1)
clients = [rng.normal(size=(400, 32)).astype("float32") for _ in range(8)]

x = tf.placeholder(tf.float32, [None, 32])
hidden = tf.nn.relu(tf.matmul(x, tf.get_variable("w1", [32, 64])))
loss = tf.reduce_mean(tf.square(tf.matmul(hidden, tf.get_variable("w2", [64, 32])) - x))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
first = tf.global_variables_initializer()
weights = tf.trainable_variables()
places = [tf.placeholder(tf.float32, weight.shape) for weight in weights]
put = [weight.assign(place) for weight, place in zip(weights, places)]

shared = None
for turn in range(48):
    rows = clients[turn % 8]
    with tf.Session() as session:  # <-- kernels-rebuilt
        session.run(first)
        if shared is not None:
            session.run(put, dict(zip(places, shared)))
        for step in range(5):
            value, _ = session.run([loss, train], {x: rows[rng.integers(0, 400, 32)]})
        shared = session.run(weights)
print(f"loss {value:.4f}")
