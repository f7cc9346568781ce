# ruff: noqa
# expect: nothing

import tensorflow.compat.v1 as tf
import tensorflow as tf2

tf.disable_v2_behavior()
ds = tf.data.Dataset.range(10).batch(2)
it = ds.make_one_shot_iterator()
other = tf2.compat.v1.data.make_one_shot_iterator(ds)
