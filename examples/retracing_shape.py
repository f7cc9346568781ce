# expect: retracing
# also: shape-churn, kernels-rebuilt
# steps: 80
"""Sentences of many lengths, each padded to the longest of its batch: a graph per length."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
rng = np.random.default_rng(1)
table = tf.Variable(tf.random.normal([100, 16], stddev=0.1))
output = tf.Variable(tf.random.normal([16, 1], stddev=0.1))


@tf.function
def train_step(words, labels):
    with tf.GradientTape() as tape:
        sentence = tf.reduce_mean(tf.gather(table, words), axis=1)
        logits = tf.squeeze(sentence @ output, axis=1)
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
    for weight, gradient in zip((table, output), tape.gradient(loss, (table, output))):
        weight.assign_sub(0.1 * tf.convert_to_tensor(gradient))
    return loss


for step in range(80):
    length = 5 + 7 * step % 80
    words = tf.constant(rng.integers(0, 100, size=(32, length)))
    labels = tf.cast(words[:, 0] > 50, tf.float32)
    loss = train_step(words, labels)  # <-- retracing
print(f"loss {loss.numpy():.4f}")
