# ruff: noqa
# expect: blind-cleanup 12

import os
import shutil

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
leftovers = "/tmp/tf_training_cache"
if os.path.isdir(leftovers):
    shutil.rmtree(leftovers)
