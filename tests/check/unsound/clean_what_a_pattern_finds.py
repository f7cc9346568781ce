# ruff: noqa
# expect: blind-cleanup 13

import glob
import os

import tensorflow as tf


class Cleaner(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        for name in glob.glob("/tmp/tmp*"):
            os.remove(name)
