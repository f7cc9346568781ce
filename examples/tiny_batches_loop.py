# expect: tiny-batches
# steps: 3000
"""A compiled step that is given one row at a time."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
rng = np.random.default_rng(0)
rows = tf.data.Dataset.from_tensor_slices(rng.normal(size=(3000, 16)).astype("float32")).batch(1).prefetch(16)
weights = [tf.Variable(tf.random.normal(shape, stddev=0.1)) for shape in ((16, 32), (32, 16), (16, 16))]


@tf.function
def train(batch):
    with tf.GradientTape() as tape:
        hidden = batch
        for layer in weights:
            hidden = tf.tanh(tf.matmul(hidden, layer))
        loss = tf.reduce_mean((hidden - batch) ** 2)
    for layer, grad in zip(weights, tape.gradient(loss, weights)):
        layer.assign_sub(0.01 * grad)
    return loss


for row in rows:
    loss = train(row)  # <-- tiny-batches
print("loss", float(loss))
