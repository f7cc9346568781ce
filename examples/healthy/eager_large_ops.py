# expect: nothing
# steps: 20
"""An eager step of a few very large products: compiling it would give nothing."""

import tensorflow as tf

tf.random.set_seed(1)
features = tf.random.normal([2048, 1024])
targets = tf.reduce_sum(features, axis=1, keepdims=True)
hidden = tf.Variable(tf.random.normal([1024, 2048], stddev=0.03))
output = tf.Variable(tf.random.normal([2048, 1], stddev=0.03))

for step in range(20):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.nn.relu(features @ hidden) @ output - targets))
    first, second = tape.gradient(loss, (hidden, output))
    hidden.assign_sub(0.001 * first)
    output.assign_sub(0.001 * second)
print(f"loss {loss.numpy():.4f}")
