# expect: function-in-loop
# steps: 60
"""The step is defined and compiled anew in every iteration."""

import tensorflow as tf

tf.random.set_seed(1)
features = tf.random.normal([1024, 16])
targets = tf.reduce_sum(features, axis=1, keepdims=True)

hidden = tf.Variable(tf.random.normal([16, 32], stddev=0.1))
output = tf.Variable(tf.random.normal([32, 1], stddev=0.1))


def update(batch, wanted):
    with tf.GradientTape() as tape:
        guess = tf.nn.relu(batch @ hidden) @ output
        loss = tf.reduce_mean(tf.square(guess - wanted))
    for weight, gradient in zip((hidden, output), tape.gradient(loss, (hidden, output))):
        weight.assign_sub(0.05 * gradient)
    return loss


for step in range(60):
    begin = step % 16 * 64
    train_step = tf.function(update)  # <-- function-in-loop
    loss = train_step(features[begin : begin + 64], targets[begin : begin + 64])
print(f"loss {loss.numpy():.4f}")
