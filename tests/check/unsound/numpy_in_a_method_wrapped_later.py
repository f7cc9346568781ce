# ruff: noqa
# expect: numpy-in-function 14

import tensorflow as tf


class Agent:
    def __init__(self):
        self.steps = tf.Variable(0)
        self.act = tf.function(self._act)

    def _act(self, state):
        self.steps.assign_add(1)
        if self.steps.numpy() > 10:
            return state
        return state * 2
