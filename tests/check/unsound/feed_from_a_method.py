# ruff: noqa
# expect: symbolic-feed 19

import tensorflow.compat.v1 as tf


class Model:
    def __init__(self):
        self.inputs = tf.placeholder(tf.float32, [None, 2])
        self.out = tf.layers.dense(self.inputs, 1)
        self.sess = None

    def start(self):
        self.sess = tf.Session()
        self.sess.run(tf.global_variables_initializer())

    def predict(self):
        noise = tf.random.normal([4, 2])
        return self.sess.run(self.out, feed_dict={self.inputs: noise})
