# expect: thread-settings
# also: compute-bound
# steps: 60
"""A script that was once told to share its machine, and still runs on one thread."""

import numpy as np
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(1)  # <-- thread-settings
tf.random.set_seed(0)
rng = np.random.default_rng(0)
batch = tf.constant(rng.normal(size=(512, 1024)).astype("float32"))
layers = [tf.Variable(tf.random.normal((1024, 1024), stddev=0.03)) for _ in range(3)]


@tf.function
def train(batch):
    with tf.GradientTape() as tape:
        hidden = batch
        for layer in layers:
            hidden = tf.nn.relu(tf.matmul(hidden, layer))
        loss = tf.reduce_mean((hidden - batch) ** 2)
    for layer, grad in zip(layers, tape.gradient(loss, layers)):
        layer.assign_sub(0.1 * grad)
    return loss


for step in range(60):
    loss = train(batch)
print("loss", float(loss))
