# ruff: noqa
# expect: nothing

import shutil

import tensorflow as tf

opt = tf.keras.optimizers.Adam(lr=0.1)  # unslow: ignore[removed-argument]
# unslow: ignore
shutil.rmtree("/tmp/known")
saver = tf.keras.callbacks.ModelCheckpoint(
    "a.keras",
    period=3,
)  # unslow: ignore[removed-argument, numpy-in-function]


@tf.function
def f(x):
    return x.numpy()  # unslow: ignore [numpy-in-function]
