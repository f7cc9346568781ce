# ruff: noqa
# expect: nothing

import tensorflow as tf


class Net(tf.keras.Model):
    def call(self, x):
        return x

    def predict_classes(self, x):
        return tf.argmax(self(x), -1)

    def fit_generator(self, generator):
        return self.fit(generator)


net = Net()
net.predict_classes(tf.ones([2, 2]))
net.fit_generator(None)


class Wrapper:
    def fit(self, x, workers=1):
        return x

    def save(self, path):
        return path


Wrapper().fit(1, workers=3)
Wrapper().save("folder")
