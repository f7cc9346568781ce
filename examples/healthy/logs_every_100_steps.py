# expect: nothing
# steps: 300
"""A loop that looks at its loss and its weights every 100 steps."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
rng = np.random.default_rng(0)
data = tf.data.Dataset.from_tensor_slices(rng.normal(size=(6400, 256)).astype("float32")).batch(64).repeat(3)
weights = [tf.Variable(tf.random.normal(shape, stddev=0.05)) for shape in ((256, 768), (768, 256))]


@tf.function
def train(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.matmul(tf.nn.relu(tf.matmul(batch, weights[0])), weights[1]) - batch) ** 2)
    for layer, grad in zip(weights, tape.gradient(loss, weights)):
        layer.assign_sub(0.1 * grad)
    return loss


for step, batch in enumerate(data):
    loss = train(batch)
    if step % 100 == 0:
        norms = [float(np.linalg.norm(layer.numpy())) for layer in weights]
        print(f"step {step}: loss {float(loss):.4f}, norms {norms}")
