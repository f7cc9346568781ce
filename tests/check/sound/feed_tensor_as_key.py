# ruff: noqa
# expect: nothing

import tensorflow.compat.v1 as tf

c = tf.constant(1.0)
y = c * 2
with tf.Session() as sess:
    sess.run(y, feed_dict={c: 5.0})
