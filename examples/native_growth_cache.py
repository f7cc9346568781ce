# expect: native-growth
# steps: 600
"""The cache stands behind the repetition: every batch is kept, and none is ever read again."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
frames = rng.normal(size=(512, 64, 64)).astype(np.float32)


def standardise(batch):
    return (batch - tf.reduce_mean(batch)) / tf.math.reduce_std(batch)


data = tf.data.Dataset.from_tensor_slices(frames).shuffle(512).repeat().batch(32, drop_remainder=True)
data = data.map(standardise)
data = data.cache()  # <-- native-growth
data = data.prefetch(2)

weights = tf.Variable(tf.random.normal((64 * 64, 1024), stddev=0.01))


@tf.function
def train_step(batch):
    with tf.GradientTape() as tape:
        codes = tf.matmul(tf.reshape(batch, (32, 64 * 64)), weights)
        loss = tf.reduce_mean(tf.abs(codes)) + tf.reduce_mean(weights * weights)
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


for batch in data.take(600):
    loss = train_step(batch)
print("done")
