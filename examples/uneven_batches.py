# expect: uneven-batches
# steps: 240
"""Sequences sorted by their length: the later steps are slower because their batches are longer."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
lengths = np.repeat([16, 128, 256, 384, 512, 640], 40)
projection = tf.Variable(tf.random.normal([64, 512], stddev=0.1))
readout = tf.Variable(tf.random.normal([512, 1], stddev=0.1))


@tf.function(input_signature=[tf.TensorSpec([16, None, 64], tf.float32)])
def train(batch):
    with tf.GradientTape() as tape:
        hidden = tf.nn.relu(tf.einsum("bti,ih->bth", batch, projection))
        loss = tf.reduce_mean((tf.einsum("bth,ho->bto", hidden, readout) - 1.0) ** 2)
    for weights, gradient in zip((projection, readout), tape.gradient(loss, (projection, readout))):
        weights.assign_sub(0.01 * gradient)
    return loss


sequences = {length: tf.constant(rng.normal(size=(16, length, 64)).astype("float32")) for length in set(lengths.tolist())}
for length in lengths.tolist():  # <-- uneven-batches
    loss = train(sequences[length])
print("loss", round(float(loss), 3))
