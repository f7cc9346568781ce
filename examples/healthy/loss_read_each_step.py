# expect: nothing
# steps: 200
"""The loss is read in every step; on a CPU it is finished by then, and reading it is free."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
rng = np.random.default_rng(0)
data = tf.data.Dataset.from_tensor_slices(rng.normal(size=(3200, 256)).astype("float32")).batch(64).repeat(4)
first = tf.Variable(tf.random.normal((256, 1024), stddev=0.05))
second = tf.Variable(tf.random.normal((1024, 256), stddev=0.05))


@tf.function
def train(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.matmul(tf.nn.relu(tf.matmul(batch, first)), second) - batch) ** 2)
    for weights, grad in zip((first, second), tape.gradient(loss, (first, second))):
        weights.assign_sub(0.1 * grad)
    return loss


losses = []
for batch in data:
    losses.append(train(batch).numpy())
print("loss", losses[0], losses[-1])
