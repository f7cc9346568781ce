# ruff: noqa
# expect: removed-argument 7

import tensorflow as tf

keras = tf.keras
opt = keras.optimizers.SGD(lr=0.1, momentum=0.9)
