# ruff: noqa
# expect: nothing

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
x = tf.placeholder(tf.float32)
y = x * 2
batch = tf.data.make_one_shot_iterator(tf.data.Dataset.range(10)).get_next()
with tf.Session() as sess:
    while True:
        value = sess.run(batch)
        sess.run(y, feed_dict={x: value})
