# ruff: noqa
# expect: accumulation-reset 26

import tensorflow as tf
from tensorflow import keras


class Accumulating(keras.Model):
    def __init__(self, n):
        super().__init__()
        self.n = n
        self.count = tf.Variable(0)
        self.dense = keras.layers.Dense(1)
        self.bank = []

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        self.count.assign_add(1)
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x))
        grads = tape.gradient(loss, self.trainable_variables)
        for place in range(len(self.bank)):
            self.bank[place].assign(tf.zeros_like(self.bank[place]))
            self.bank[place].assign_add(grads[place])
        tf.cond(tf.equal(self.count, self.n), self.flush, lambda: None)
        return {"loss": loss}

    def flush(self):
        self.optimizer.apply_gradients(zip(self.bank, self.trainable_variables))
        self.count.assign(0)
