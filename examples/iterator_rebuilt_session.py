# expect: iterator-rebuilt
# steps: 160
"""A TensorFlow 1 training on sonar echoes that looks at its validation data every eight steps, by one iterator."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(3)

BATCH, ROUNDS, STEPS = 32, 20, 8
rng = np.random.RandomState(3)


def echoes(count):
    kinds = rng.randint(0, 4, size=count)
    return (rng.normal(size=(count, 2048)) + kinds[:, None]).astype(np.float32), kinds


def heard(echo, kind):
    """An echo with the noise of another day, and its spectrum."""
    echo = echo + tf.random_normal([2048], stddev=0.1)
    spectrum = tf.abs(tf.signal.rfft(echo))
    return tf.concat([echo, spectrum], axis=0), kind


training = tf.data.Dataset.from_tensor_slices(echoes(500)).repeat().map(heard).shuffle(400).batch(BATCH)
checking = tf.data.Dataset.from_tensor_slices(echoes(64)).map(heard).batch(BATCH)
iterator = tf.data.Iterator.from_structure(
    tf.data.get_output_types(training), tf.data.get_output_shapes(training)
)
starts = {"train": iterator.make_initializer(training), "check": iterator.make_initializer(checking)}
inputs, targets = iterator.get_next()
hidden = tf.get_variable("hidden", [3073, 64])
out = tf.get_variable("out", [64, 4])
logits = tf.matmul(tf.nn.relu(tf.matmul(inputs, hidden)), out)
loss = tf.losses.sparse_softmax_cross_entropy(targets, logits)
right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), targets), tf.float32))
train = tf.train.GradientDescentOptimizer(1e-3).minimize(loss)


def use(session, which):
    session.run(starts[which])  # <-- iterator-rebuilt


with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(ROUNDS):
        use(session, "train")
        for _ in range(STEPS):
            session.run(train)
        use(session, "check")
        found = session.run(right)
    print("right", found)
