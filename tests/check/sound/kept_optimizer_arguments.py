# ruff: noqa
# expect: nothing

import tensorflow as tf

k = tf.keras
a = k.optimizers.Adam(learning_rate=1e-3, clipnorm=1.0, weight_decay=1e-4, epsilon=1e-7)
b = k.optimizers.SGD(0.1, momentum=0.9, nesterov=True)
c = tf.compat.v1.train.AdamOptimizer(learning_rate=0.1)
d = c.minimize
a.learning_rate = 0.5
print(a.learning_rate)
