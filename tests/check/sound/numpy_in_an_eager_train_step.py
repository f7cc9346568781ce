# ruff: noqa
# expect: nothing

import keras
import tensorflow as tf


class Net(keras.Model):
    def train_step(self, data):
        loss = tf.reduce_mean(self(data))
        return {"loss": loss.numpy()}


net = Net()
net.compile("adam", run_eagerly=True)
