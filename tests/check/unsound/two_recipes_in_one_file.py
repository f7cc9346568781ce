# ruff: noqa
# expect: removed-argument 10
# expect: numpy-in-function 15
# expect: blind-cleanup 18

import shutil

import tensorflow as tf

early = tf.keras.callbacks.ModelCheckpoint("m.keras", period=2)


@tf.function
def value(x):
    return tf.reduce_sum(x).numpy()


shutil.rmtree("/tmp/tf_events")
