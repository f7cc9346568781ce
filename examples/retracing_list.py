# expect: retracing
# steps: 50
"""Weights of the losses that are handed in as a Python list, and change with every step."""

import tensorflow as tf

tf.random.set_seed(1)
features = tf.random.normal([512, 8])
sums = tf.reduce_sum(features, axis=1, keepdims=True)
largest = tf.reduce_max(features, axis=1, keepdims=True)

shared = tf.Variable(tf.random.normal([8, 16], stddev=0.3))
heads = [tf.Variable(tf.random.normal([16, 1], stddev=0.3)) for _ in range(2)]


def losses(batch, targets):
    hidden = tf.nn.tanh(batch @ shared)
    return [tf.reduce_mean(tf.square(hidden @ head - target)) for head, target in zip(heads, targets)]


def step(batch, targets, mixture):
    weights = [shared, *heads]
    with tf.GradientTape() as tape:
        loss = tf.add_n([part * share for part, share in zip(losses(batch, targets), mixture)])
    for weight, gradient in zip(weights, tape.gradient(loss, weights)):
        weight.assign_sub(0.05 * gradient)
    return loss


compiled = tf.function(step)
for number in range(50):
    rows = slice(number % 8 * 64, number % 8 * 64 + 64)
    share = number / 50
    loss = compiled(features[rows], [sums[rows], largest[rows]], mixture=[share, 1 - share])  # <-- retracing
print(f"loss {loss.numpy():.4f}")
