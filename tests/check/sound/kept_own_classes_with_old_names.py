# ruff: noqa
# expect: nothing

import keras


class Adam:
    def __init__(self, lr, decay=0.0):
        self.lr = lr


class ModelCheckpoint(keras.callbacks.Callback):
    def __init__(self, path, period):
        super().__init__()
        self.period = period


opt = Adam(lr=0.1, decay=0.1)
opt.lr = 0.2
saver = ModelCheckpoint("weights", period=3)
