# ruff: noqa
# expect: nothing

import tensorflow.compat.v1 as tf

x = tf.placeholder(tf.float32)
noise = tf.random.normal([3])
with tf.Session() as sess:
    noise = sess.run(noise)
    sess.run(x + 1, feed_dict={x: noise})
