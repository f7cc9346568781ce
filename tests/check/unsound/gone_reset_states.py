# ruff: noqa
# expect: removed-argument 12

import tensorflow as tf


class Loop:
    def __init__(self):
        self.mean = tf.keras.metrics.Mean(name="loss")

    def epoch(self, data):
        self.mean.reset_states()
        for value in data:
            self.mean.update_state(value)
