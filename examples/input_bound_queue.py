# expect: input-bound
# steps: 300
"""A TensorFlow 1 training on scanned stamps: one thread of its queue decodes them, one after the other."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(1)

BATCH = 12
rng = np.random.RandomState(0)


def scans():
    """Pictures as a scanner writes them, and the country of each."""
    picture = tf.placeholder(tf.uint8, [224, 224, 3])
    written = tf.image.encode_png(picture)
    with tf.Session() as session:
        pictures = [session.run(written, {picture: rng.randint(0, 255, [224, 224, 3])}) for _ in range(48)]
    return pictures, rng.randint(0, 5, size=48)


def stamps(pictures, countries):
    written, country = tf.train.slice_input_producer([pictures, countries], shuffle=True, capacity=32)
    picture = tf.cast(tf.image.decode_png(written, channels=3)[::8, ::8], tf.float32) / 255.0
    picture.set_shape([28, 28, 3])
    return tf.train.shuffle_batch(  # <-- input-bound
        [picture, country], batch_size=BATCH, capacity=8 * BATCH, min_after_dequeue=2 * BATCH
    )


inputs, targets = stamps(*scans())
hidden = tf.get_variable("hidden", [28 * 28 * 3, 64])
out = tf.get_variable("out", [64, 5])
logits = tf.matmul(tf.nn.relu(tf.matmul(tf.reshape(inputs, [BATCH, -1]), hidden)), out)
loss = tf.losses.sparse_softmax_cross_entropy(targets, logits)
train = tf.train.GradientDescentOptimizer(1e-3).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=session, coord=coordinator)
    for step in range(300):
        _, value = session.run([train, loss])
    print("loss", value)
    coordinator.request_stop()
    coordinator.join(threads, stop_grace_period_secs=2)
