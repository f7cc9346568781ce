# ruff: noqa
# expect: nothing

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
x = tf.placeholder(tf.float32, [None, 4])
y = tf.reduce_sum(x)
data = np.random.rand(100, 4)
with tf.Session() as sess:
    for start in range(0, 100, 10):
        sess.run(y, feed_dict={x: data[start : start + 10]})
