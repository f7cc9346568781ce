#!/usr/bin/env python
"""Sequence tagger with stochastic weight averaging.

usage: swa_tagger.py [--epochs N] [--swa-start N]
"""
import argparse

import keras
import numpy as np
from keras import layers

VOCAB, TAGS, LENGTH = 6000, 12, 24


def corpus(n, seed):
    rng = np.random.default_rng(seed)
    words = rng.zipf(1.3, (n, LENGTH)) % VOCAB
    tags = (words * 7 + np.roll(words, 1, axis=1)) % TAGS
    return words.astype("int32"), tags.astype("int32")


class WeightAverager(keras.callbacks.Callback):
    """Averages the weights over the tail of the training and loads the average at the end."""

    def __init__(self, start_epoch):
        super().__init__()
        self.start_epoch = start_epoch
        self.active = False
        self.snapshots = []

    def on_epoch_begin(self, epoch, logs=None):
        self.active = epoch >= self.start_epoch

    def on_train_batch_end(self, batch, logs=None):
        if self.active:
            self.snapshots.append(self.model.get_weights())

    def on_train_end(self, logs=None):
        average = [sum(layer[1:], layer[0]) / len(layer) for layer in zip(*self.snapshots)]
        self.model.set_weights(average)
        print("averaged %d sets of weights" % len(self.snapshots))


def tagger():
    tokens = keras.Input((LENGTH,), dtype="int32")
    h = layers.Embedding(VOCAB, 96)(tokens)
    h = layers.Conv1D(128, 3, padding="same", activation="relu")(h)
    h = layers.Conv1D(128, 3, padding="same", activation="relu")(h)
    return keras.Model(tokens, layers.Dense(TAGS)(h))


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--swa-start", type=int, default=1)
    ap.add_argument("--sentences", type=int, default=8000)
    a = ap.parse_args()
    keras.utils.set_random_seed(77)
    x, y = corpus(a.sentences, 5)
    xt, yt = corpus(1000, 6)
    model = tagger()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    model.fit(x, y, batch_size=80, epochs=a.epochs, verbose=2, callbacks=[WeightAverager(a.swa_start)])
    print("test", model.evaluate(xt, yt, batch_size=250, verbose=0))


if __name__ == "__main__":
    main()
