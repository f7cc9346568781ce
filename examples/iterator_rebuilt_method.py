# expect: iterator-rebuilt
# also: big-shuffle
# steps: 80
"""The same hidden in a trainer object, with take(1) instead of next()."""

import tensorflow as tf


class Trainer:
    def __init__(self):
        numbers = tf.data.Dataset.range(30_000).shuffle(8_000)
        self.data = numbers.map(lambda n: tf.cast(n, tf.float32) / 30_000.0).batch(64)
        self.weight = tf.Variable(0.0)
        self.optimizer = tf.keras.optimizers.SGD(0.1)

    @tf.function
    def update(self, values):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.weight * values - 3.0 * values))
        self.optimizer.apply_gradients([(tape.gradient(loss, self.weight), self.weight)])

    def step(self):
        for values in self.data.take(1):  # <-- iterator-rebuilt
            self.update(values)


trainer = Trainer()
for _ in range(80):
    trainer.step()
print("done")
