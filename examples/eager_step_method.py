# expect: eager-step
# steps: 100
"""A trainer class whose step is a plain method, with the gradients and the update in methods below it."""

import tensorflow as tf

tf.keras.utils.set_random_seed(1)


class Trainer:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])
        self.model.build([None, 16])
        self.optimizer = tf.keras.optimizers.Adam(0.01)

    def gradients(self, batch, wanted):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.model(batch, training=True) - wanted))
        return loss, tape.gradient(loss, self.model.trainable_variables)

    def update(self, gradients):
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))

    def step(self, batch, wanted):  # <-- eager-step
        loss, gradients = self.gradients(batch, wanted)
        self.update(gradients)
        return loss

    def train(self, features, targets, epochs):
        for _ in range(epochs):
            for begin in range(0, len(features), 64):
                loss = self.step(features[begin : begin + 64], targets[begin : begin + 64])
        return loss


features = tf.random.normal([1280, 16])
targets = tf.sin(tf.reduce_sum(features, axis=1, keepdims=True))
print(f"loss {Trainer().train(features, targets, 5).numpy():.4f}")
