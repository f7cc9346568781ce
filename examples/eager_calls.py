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


def simulated(x, y, z):
    """Forty steps of the Lorenz system."""
    for _ in range(40):
        dx = 10.0 * (y - x)
        dy = x * (28.0 - z) - y
        dz = x * y - 2.6667 * z
        x, y, z = x + 0.005 * dx, y + 0.005 * dy, z + 0.005 * dz  # <-- eager-calls
    return x, y, z


for episode in range(60):
    x, y, z = tf.unstack(tf.random.normal([3, 64]))
    x, y, z = simulated(x, y, z)
    features = tf.stack([x, y, z, x * y, y * z, x * z, x * x, z * z], axis=1) / 1000.0
    loss = update(features, tf.stack([x, y, z], axis=1) / 30.0)
print("loss", round(float(loss), 3))
