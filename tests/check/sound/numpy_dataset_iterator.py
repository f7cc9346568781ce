# ruff: noqa
# expect: nothing

import tensorflow as tf

for item in tf.data.Dataset.range(3).map(lambda x: x * 2).as_numpy_iterator():
    print(item)
for item in tf.data.Dataset.range(3):
    print(item.numpy())
