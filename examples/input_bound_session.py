# expect: input-bound
# steps: 180
"""A TensorFlow 1 training on vibration traces: its graph draws a random cut of each and sorts it, one at a time."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(1)

LENGTH = 10000
rng = np.random.RandomState(0)
traces = rng.normal(size=(96, 16000)).astype(np.float32)
faults = rng.randint(0, 4, size=96)


def cut(trace, fault):
    """The distribution of a random piece: its values in order, and how fast they grow."""
    start = tf.random.uniform([], 0, 4000, dtype=tf.int32)
    piece = tf.sort(tf.slice(trace, [start], [LENGTH]))
    growth = tf.sort(tf.cumsum(piece)[1:] - piece[:-1]) / LENGTH
    return tf.concat([piece[::25], growth[::25]], axis=0), fault


def batches():
    dataset = tf.data.Dataset.from_tensor_slices((traces, faults))
    dataset = dataset.shuffle(96).repeat()
    dataset = dataset.map(cut)  # <-- input-bound
    dataset = dataset.batch(16, drop_remainder=True)
    dataset = dataset.prefetch(2)
    return tf.data.make_one_shot_iterator(dataset).get_next()


inputs, targets = batches()
first = tf.get_variable("first", [800, 64])
second = tf.get_variable("second", [64, 4])
logits = tf.matmul(tf.nn.relu(tf.matmul(inputs, first)), second)
loss = tf.losses.sparse_softmax_cross_entropy(targets, logits)
train = tf.train.GradientDescentOptimizer(1e-4).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(180):
        session.run(train)
    print("loss", session.run(loss))
