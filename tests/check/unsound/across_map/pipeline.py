# ruff: noqa
# expect: numpy-in-function 7

import tensorflow as tf
from parsing import parse

records = tf.data.TFRecordDataset(["a", "b"]).map(parse)
