# ruff: noqa
# expect: numpy-in-function 7

import tensorflow as tf

numbers = tf.data.Dataset.range(10)
kept = numbers.filter(lambda n: n.numpy() % 2 == 0)
