# expect: nothing
# steps: 40
"""A Gaussian process by single ops: its kernel matrix is large, and a decomposition needs it all."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
places = tf.constant(rng.uniform(-1, 1, (6000, 2)), tf.float32)
heights = tf.sin(3 * tf.reduce_sum(places, 1, keepdims=True))


def covariance(one, other):
    squares = tf.reduce_sum(one**2, 1)[:, None] + tf.reduce_sum(other**2, 1)
    return tf.exp(-5 * (squares - 2 * tf.matmul(one, other, transpose_b=True)))


root = tf.linalg.cholesky(covariance(places, places) + 0.1 * tf.eye(len(places)))
weights = tf.linalg.cholesky_solve(root, heights)
smooth = tf.matmul(covariance(places[:400], places), weights)
del root
model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(places[:400].numpy(), smooth.numpy(), batch_size=10, verbose=0)
print("mean", round(float(tf.reduce_mean(smooth)), 3))
