# ruff: noqa
# expect: symbolic-feed 10

from tensorflow.compat import v1 as tf

p = tf.placeholder(tf.float32)
q = tf.square(p)
start = tf.constant(3.0) + 1.0
with tf.Session().as_default():
    print(q.eval(feed_dict={p: start}))
