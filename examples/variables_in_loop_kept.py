# expect: variables-in-loop
# also: hoarded-tensors
# steps: 2000
"""A running average of the weights that is a new variable in every step, kept in a history three calls deep."""

import tensorflow as tf

tf.random.set_seed(1)
features = tf.random.normal((128, 512))
weights = tf.Variable(tf.zeros((512, 64)))
optimizer = tf.keras.optimizers.SGD(0.01)
optimizer.build([weights])


class Averages:
    def __init__(self):
        self.history = []

    def snapshot(self):
        return tf.Variable(weights * 0.5, trainable=False)  # <-- variables-in-loop

    def update(self):
        self.history.append(self.snapshot())


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ weights - 1.0))
    optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
    return loss


averages = Averages()
for step in range(2000):
    loss = train_step(features)
    averages.update()
print(f"loss {float(loss):.4f}")
