"""Everything that makes two runs of the growth-ring models comparable."""
import os
import random

import keras
import numpy as np
import tensorflow as tf


def fix_everything(seed):
    os.environ["PYTHONHASHSEED"] = str(seed)
    random.seed(seed)
    np.random.seed(seed)
    tf.random.set_seed(seed)


class Reproducible(keras.callbacks.Callback):
    """Same noise and dropout for a given (seed, batch), whatever ran before."""

    def __init__(self, seed):
        super().__init__()
        self.seed = seed
        self.count = 0

    def on_train_begin(self, logs=None):
        fix_everything(self.seed)

    def on_train_batch_begin(self, batch, logs=None):
        fix_everything(self.seed + self.count)
        self.count += 1


def describe(model):
    total = sum(int(np.prod(w.shape)) for w in model.trainable_weights)
    return f"{model.name}: {total} parameters in {len(model.layers)} layers"
