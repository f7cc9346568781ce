# expect: model-rebuilt
# also: function-in-loop
# steps: 150
"""Five seeds with a training loop of one's own: model, optimizer and compiled step are made for each."""

import tensorflow as tf


class Regressor(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(32, activation="relu")
        self.out = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.out(self.hidden(x))


def train(seed, features, targets):
    model = Regressor()  # <-- model-rebuilt
    optimizer = tf.keras.optimizers.Adam(0.01)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    for _ in range(30):
        loss = step(features, targets)
    return float(loss)


features = tf.random.normal((256, 16))
targets = tf.reduce_sum(features, axis=1, keepdims=True)
print([round(train(seed, features, targets), 3) for seed in range(5)])
