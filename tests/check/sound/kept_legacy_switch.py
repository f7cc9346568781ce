# ruff: noqa
# expect: nothing

import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow as tf

opt = tf.keras.optimizers.legacy.Adam(lr=0.1)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.fit_generator(None, workers=2)
