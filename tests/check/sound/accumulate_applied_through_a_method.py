# ruff: noqa
# expect: nothing

import tensorflow as tf


class Accumulator:
    def __init__(self, model, opt, n):
        self.model, self.opt, self.n, self.i = model, opt, n, 0
        self.sums = [tf.Variable(tf.zeros_like(v)) for v in model.trainable_variables]

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(self.model(x) - y))
        for s, g in zip(self.sums, tape.gradient(loss, self.model.trainable_variables)):
            s.assign_add(g)
        self.i += 1
        if self.i % self.n == 0:
            self.flush()

    def flush(self):
        self.opt.apply_gradients(zip(self.sums, self.model.trainable_variables))
        for s in self.sums:
            s.assign(tf.zeros_like(s))
