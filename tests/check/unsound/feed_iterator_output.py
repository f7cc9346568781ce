# ruff: noqa
# expect: symbolic-feed 13

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
x = tf.placeholder(tf.float32, [None, 4])
y = tf.reduce_sum(x)
batches = tf.data.Dataset.from_tensor_slices(tf.ones([32, 4])).batch(8)
upcoming = tf.data.make_one_shot_iterator(batches).get_next()
with tf.Session() as sess:
    for _ in range(4):
        print(sess.run(y, feed_dict={x: upcoming}))
