import numpy as np
import tensorflow as tf


class TailAverage(tf.keras.callbacks.Callback):
    """Gives the network, at the end, the mean of the weights that it had in the last epochs."""

    def __init__(self, begin_epoch):
        super().__init__()
        self.begin_epoch = begin_epoch
        self.active = False
        self.history = []

    def on_epoch_begin(self, epoch, logs=None):
        self.active = epoch >= self.begin_epoch

    def on_train_batch_end(self, batch, logs=None):
        if self.active:
            self.history.append(self.model.get_weights())

    def on_train_end(self, logs=None):
        self.model.set_weights([np.mean(versions, axis=0) for versions in zip(*self.history)])
        print("averaged", len(self.history), "versions")
