# expect: function-in-loop
# steps: 60
"""The loss is compiled as a lambda wherever it is needed."""

import tensorflow as tf

tf.random.set_seed(1)
features = tf.random.normal([512, 8])
targets = tf.reduce_sum(features, axis=1, keepdims=True)
weights = tf.Variable(tf.zeros([8, 1]))


@tf.function
def train_step(batch, wanted):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(batch @ weights - wanted))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))


for step in range(60):
    rows = slice(step % 8 * 64, step % 8 * 64 + 64)
    train_step(features[rows], targets[rows])
    error = tf.function(lambda x, y: tf.reduce_max(tf.abs(x @ weights - y)))(features, targets)  # <-- function-in-loop
print(f"error {error.numpy():.4f}")
