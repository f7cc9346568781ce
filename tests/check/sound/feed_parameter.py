# ruff: noqa
# expect: nothing

import tensorflow.compat.v1 as tf


def run(sess, fetch, x, batch):
    return sess.run(fetch, feed_dict={x: batch, "keep:0": 0.5})
