# expect: elementwise-loop
# steps: 150
"""The wins of a batch of games are counted by looking at each score in Python."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
rng = np.random.default_rng(0)
games = tf.data.Dataset.from_tensor_slices(rng.normal(size=(9600, 32)).astype("float32")).batch(64)
policy = tf.Variable(tf.random.normal((32, 1), stddev=0.1))


@tf.function
def train(batch):
    with tf.GradientTape() as tape:
        scores = tf.tanh(tf.matmul(batch, policy))[:, 0]
        loss = -tf.reduce_mean(scores)
    policy.assign_sub(0.01 * tape.gradient(loss, policy))
    return scores


def wins(scores):
    count = 0
    for index in range(scores.shape[0]):
        if scores[index] > 0.1:  # <-- elementwise-loop
            count += 1
    return count


won = 0
for batch in games:
    won += wins(train(batch))
print("won", won)
