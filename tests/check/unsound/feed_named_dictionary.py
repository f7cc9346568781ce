# ruff: noqa
# expect: symbolic-feed 11

import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()
x = tf1.placeholder("float32", (None,))
total = tf.math.reduce_sum(x)
values = tf.constant([1.0, 2.0])
feed = {x: values}
with tf1.Session() as sess:
    sess.run(total, feed_dict=feed)
