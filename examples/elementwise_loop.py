# expect: elementwise-loop
# steps: 200
"""A similarity loss that compares each pair of embeddings through tf.map_fn."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
rng = np.random.default_rng(0)
left = tf.constant(rng.normal(size=(96, 64)).astype("float32"))
right = tf.constant(rng.normal(size=(96, 64)).astype("float32"))
encoder = tf.Variable(tf.random.normal((64, 64), stddev=0.1))


def cosine(pair):
    one, other = pair
    return tf.reduce_sum(one * other) / (tf.norm(one) * tf.norm(other))


@tf.function
def train(left, right):
    with tf.GradientTape() as tape:
        pairs = (tf.matmul(left, encoder), tf.matmul(right, encoder))
        close = tf.map_fn(cosine, pairs, fn_output_signature=tf.float32)  # <-- elementwise-loop
        loss = tf.reduce_mean(1.0 - close)
    encoder.assign_sub(0.1 * tape.gradient(loss, encoder))
    return loss


for step in range(200):
    loss = train(left, right)
print("loss", float(loss))
