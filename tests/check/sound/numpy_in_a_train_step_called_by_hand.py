# ruff: noqa
# expect: nothing

import tensorflow as tf


class Net(tf.keras.Model):
    def train_step(self, data):
        loss = tf.reduce_mean(self(data))
        return float(loss.numpy())


net = Net()
for _ in range(3):
    net.train_step(tf.ones([2, 2]))
