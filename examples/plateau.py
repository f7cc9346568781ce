# expect: plateau
# steps: 1200
"""A regression that has learned what it can after a third of its steps, and goes on as fast as ever."""

import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([1024, 64])
y = tf.matmul(x, tf.random.normal([64, 1])) + 0.1 * tf.random.normal([1024, 1])
hidden = tf.Variable(tf.random.normal([64, 256], stddev=0.05))
out = tf.Variable(tf.random.normal([256, 1], stddev=0.05))


@tf.function
def train():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.matmul(tf.matmul(x, hidden), out) - y) ** 2)
    for weights, gradient in zip((hidden, out), tape.gradient(loss, (hidden, out))):
        weights.assign_sub(0.02 * gradient)
    return loss


for step in range(1200):  # <-- plateau
    loss = float(train())
    if step % 300 == 0:
        print("loss", round(loss, 3))
print("loss", round(loss, 3))
