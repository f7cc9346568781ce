# ruff: noqa
# expect: removed-argument 17
# expect: removed-argument 18

import tensorflow as tf


class Net(tf.keras.Model):
    def call(self, x):
        return x


net = Net()
net.compile(loss="mse")
net.fit(
    tf.data.Dataset.range(3),
    workers=4,
    use_multiprocessing=True,
)
