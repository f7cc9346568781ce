# expect: nothing
# steps: 120
"""Sequences in five buckets of lengths: a graph for each of them, all made in the first steps."""

import random

import tensorflow as tf

tf.keras.utils.set_random_seed(1)
LENGTHS = (64, 96, 128, 160, 192)
batches = {length: tf.random.normal([24, length, 80]) for length in LENGTHS}
w1 = tf.Variable(tf.random.normal([80, 512]) * 0.05)
w2 = tf.Variable(tf.random.normal([512, 80]) * 0.05)


@tf.function
def train_step(x):
    flat = tf.reshape(x, [-1, 80])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.nn.relu(flat @ w1) @ w2 - flat))
    for weight, gradient in zip((w1, w2), tape.gradient(loss, (w1, w2))):
        weight.assign_sub(0.1 * gradient)
    return loss


choice = random.Random(1)
for step in range(120):
    loss = train_step(batches[LENGTHS[step] if step < 5 else choice.choice(LENGTHS)])
print(f"loss {loss.numpy():.4f}")
