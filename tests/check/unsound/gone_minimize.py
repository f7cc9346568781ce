# ruff: noqa
# expect: removed-argument 9

import tensorflow as tf

v = tf.Variable(3.0)
sgd = tf.optimizers.SGD(0.1)
for _ in range(20):
    sgd.minimize(lambda: v * v, [v])
