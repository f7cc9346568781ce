# ruff: noqa
# expect: nothing

import tensorflow as tf

v1 = tf.compat.v1
ds = tf.data.Dataset.range(4)
with tf.Graph().as_default():
    x = v1.placeholder(tf.int64)
    with v1.Session() as sess:
        for element in ds.as_numpy_iterator():
            sess.run(x + 1, feed_dict={x: element})
