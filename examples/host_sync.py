# expect: host-sync
# steps: 120
"""Copies of all weights are taken after every step, so that one may go back to a recent one."""

from collections import deque

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
rng = np.random.default_rng(0)
data = tf.constant(rng.normal(size=(1024, 128)).astype("float32"))
layers = [tf.Variable(tf.random.normal((128, 8192), stddev=0.05)), tf.Variable(tf.random.normal((8192, 128), stddev=0.02))]


@tf.function
def train(batch):
    with tf.GradientTape() as tape:
        hidden = tf.nn.relu(tf.matmul(batch, layers[0]))
        loss = tf.reduce_mean((tf.matmul(hidden, layers[1]) - batch) ** 2)
    for layer, grad in zip(layers, tape.gradient(loss, layers)):
        layer.assign_sub(0.1 * grad)
    return loss


recent = deque(maxlen=3)
for step in range(120):
    loss = train(data[step % 64 * 4 : step % 64 * 4 + 4])
    recent.append([layer.numpy() for layer in layers])  # <-- host-sync
print("loss", float(loss), "norm", float(np.linalg.norm(recent[-1][0])))
