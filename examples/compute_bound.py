# expect: compute-bound
# steps: 60
"""A convolutional network on images: the model is what costs."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
rng = np.random.default_rng(0)
images = tf.constant(rng.normal(size=(16, 64, 64, 8)).astype("float32"))
kernels = [tf.Variable(tf.random.normal((3, 3, 8, 32), stddev=0.1)), tf.Variable(tf.random.normal((3, 3, 32, 32), stddev=0.1))]


@tf.function
def train(images):
    with tf.GradientTape() as tape:
        hidden = images
        for kernel in kernels:
            hidden = tf.nn.relu(tf.nn.conv2d(hidden, kernel, strides=1, padding="SAME"))
        loss = tf.reduce_mean((hidden - 1.0) ** 2)
    for kernel, grad in zip(kernels, tape.gradient(loss, kernels)):
        kernel.assign_sub(0.01 * grad)
    return loss


for step in range(60):
    loss = train(images)  # <-- compute-bound
print("loss", float(loss))
