# expect: retracing
# steps: 500
"""A number that only changes in every fiftieth step, which still costs a trace each time."""

import tensorflow as tf

tf.random.set_seed(1)
features = tf.random.normal([1024, 16])
targets = tf.reduce_sum(features, axis=1, keepdims=True)
layers = [tf.Variable(tf.random.normal([16, 16], stddev=0.25)) for _ in range(6)]
output = tf.Variable(tf.random.normal([16, 1], stddev=0.25))
weights = [*layers, output]


@tf.function
def train_step(batch, wanted, epoch):
    hidden = batch
    with tf.GradientTape() as tape:
        for layer in layers:
            hidden = tf.nn.tanh(hidden @ layer)
        loss = tf.reduce_mean(tf.square(hidden @ output - wanted))
    rate = 0.02 / (1.0 + 0.1 * epoch)
    for weight, gradient in zip(weights, tape.gradient(loss, weights)):
        weight.assign_sub(rate * gradient)
    return loss


for epoch in range(10):
    for step in range(50):
        begin = step % 16 * 64
        loss = train_step(features[begin : begin + 64], targets[begin : begin + 64], epoch)  # <-- retracing
print(f"loss {loss.numpy():.4f}")
