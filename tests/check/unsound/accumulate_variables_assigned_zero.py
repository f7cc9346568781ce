# ruff: noqa
# expect: accumulation-reset 19

import tensorflow as tf

k = tf.keras


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = k.optimizers.Adam()
        self.store = [tf.Variable(tf.zeros_like(v)) for v in model.trainable_variables]
        self.seen = 0

    def fit(self, data, n=8):
        for x, y in data:
            for slot in self.store:
                slot.assign(tf.zeros_like(slot))
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(k.losses.mse(y, self.model(x)))
            grads = tape.gradient(loss, self.model.trainable_variables)
            for slot, g in zip(self.store, grads):
                slot.assign_add(g / n)
            self.seen += 1
            if self.seen == n:
                self.opt.apply_gradients(zip(self.store, self.model.trainable_variables))
                self.seen = 0
