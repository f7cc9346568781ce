# ruff: noqa
# expect: removed-argument 8

import tensorflow as tf

pipeline = tf.data.TFRecordDataset("train.tfrecord")
pipeline = pipeline.shuffle(1000).batch(32)
iterator = pipeline.make_one_shot_iterator()
