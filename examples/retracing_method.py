# expect: retracing
# also: model-rebuilt, variables-in-loop
# steps: 40
"""A step that is a compiled method of an object which is made anew for every batch."""

import tensorflow as tf

tf.random.set_seed(1)
features = tf.random.normal([512, 8])
targets = tf.reduce_sum(features, axis=1, keepdims=True)
weights = tf.Variable(tf.zeros([8, 1]))


class Step:
    def __init__(self, rate):
        self.rate = rate

    @tf.function
    def __call__(self, batch, wanted):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(batch @ weights - wanted))
        weights.assign_sub(self.rate * tape.gradient(loss, weights))
        return loss


for number in range(40):
    rows = slice(number % 8 * 64, number % 8 * 64 + 64)
    loss = Step(rate=0.1)(features[rows], targets[rows])  # <-- retracing
print(f"loss {loss.numpy():.4f}")
