# expect: profiler-left-on
# steps: 150
"""A small energy model of particles that was once chased by a NaN: the check for it was never taken out again."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
tf.debugging.enable_check_numerics()  # <-- profiler-left-on

PARTICLES = 768
rng = np.random.default_rng(0)
positions = tf.constant(rng.uniform(0.0, 10.0, size=(PARTICLES, 3)).astype(np.float32))
target = tf.constant(-2.0)
depth, width, reach = (tf.Variable(value) for value in (0.5, 1.2, 3.0))
optimizer = tf.keras.optimizers.SGD(1e-3)


def energy(positions):
    """The sum over all pairs of a well with a soft wall and a smooth end."""
    apart = positions[:, None, :] - positions[None, :, :]
    squared = tf.reduce_sum(apart * apart, axis=-1) + 0.5
    distance = tf.sqrt(squared)
    wall = tf.exp(-2.0 * (distance - width))
    well = depth * (wall - 2.0 * tf.exp(-(distance - width)))
    return tf.reduce_mean(well * tf.sigmoid(reach - distance))


@tf.function
def train_step(positions):
    with tf.GradientTape() as tape:
        loss = tf.square(energy(positions) - target)
    weights = [depth, width, reach]
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


for step in range(150):
    loss = train_step(positions + tf.random.normal([PARTICLES, 3], stddev=0.01))
print("loss", float(loss))
