# ruff: noqa
# expect: nothing

import tensorflow as tf

K = tf.keras
