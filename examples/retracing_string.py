# expect: retracing
# steps: 56
"""A compiled step that is told its name in every call, for a log that it never writes."""

import tensorflow as tf

tf.random.set_seed(1)
features = tf.random.normal([512, 8])
targets = tf.reduce_sum(features, axis=1, keepdims=True)


class Trainer:
    def __init__(self):
        self.weights = tf.Variable(tf.zeros([8, 1]))

    @tf.function
    def step(self, batch, wanted, label):
        with tf.name_scope("step"), tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(batch @ self.weights - wanted), name=label.replace(" ", "_"))
        self.weights.assign_sub(0.1 * tape.gradient(loss, self.weights))
        return loss

    def epoch(self, number):
        for begin in range(0, 512, 64):
            label = f"epoch {number} batch {begin}"
            loss = self.step(features[begin : begin + 64], targets[begin : begin + 64], label)  # <-- retracing
        return loss


trainer = Trainer()
epoch = 0
while epoch < 7:
    loss = trainer.epoch(epoch)
    epoch += 1
print(f"loss {loss.numpy():.4f}")
