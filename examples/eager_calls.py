# expect: eager-calls
# steps: 60
"""A simulation of plain ops, one by one from Python, before each compiled update."""

import tensorflow as tf

tf.random.set_seed(1)
weights = tf.Variable(tf.random.normal([8, 3], stddev=0.1))


@tf.function
def update(states, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((states @ weights - targets) ** 2)
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


def moved(x, y, z):
    """One step of the Lorenz system."""
    dx = 10.0 * (y - x)
    dy = x * (28.0 - z) - y
    dz = x * y - 2.6667 * z
    return x + 0.005 * dx, y + 0.005 * dy, z + 0.005 * dz


for episode in range(60):
    x, y, z = tf.unstack(tf.random.normal([3, 64]))
    for turn in range(40):
        x, y, z = moved(x, y, z)  # <-- eager-calls
    features = tf.stack([x, y, z, x * y, y * z, x * z, x * x, z * z], axis=1) / 1000.0
    loss = update(features, tf.stack([x, y, z], axis=1) / 30.0)
print("loss", round(float(loss), 3))
