# ruff: noqa
# expect: symbolic-feed 9

import tensorflow.compat.v1 as tf


def evaluate(sess, total, x):
    feeds = {}
    feeds[x] = tf.zeros([3])
    return sess.run(total, feed_dict=feeds)
