# ruff: noqa
# expect: removed-argument 11

import keras

adam = keras.optimizers.Adam()


class Show(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(adam.lr)
