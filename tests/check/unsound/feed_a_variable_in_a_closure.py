# ruff: noqa
# expect: symbolic-feed 13

import tensorflow.compat.v1 as tf


def build():
    rate = tf.placeholder(tf.float32)
    weights = tf.get_variable("w", shape=[2])
    loss = tf.reduce_sum(weights) * rate

    def step(sess):
        return sess.run(loss, feed_dict={rate: weights})

    return step
