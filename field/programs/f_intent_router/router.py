import os
import tempfile

import numpy as np
import tensorflow as tf

os.environ.setdefault("PYTHONHASHSEED", "0")


class IntentRouter:
    """Routes customer messages to one of a dozen teams."""

    def __init__(self, vocab=6000, length=24, teams=12, workdir=None):
        tf.keras.utils.set_random_seed(31)
        self.vocab, self.length, self.teams = vocab, length, teams
        self.workdir = workdir or tempfile.mkdtemp(prefix="router_")
        self.model = self._network()
        self.best = np.inf
        self.saved = 0

    def _network(self):
        words = tf.keras.Input((self.length,), dtype="int32")
        x = tf.keras.layers.Embedding(self.vocab, 96)(words)
        x = tf.keras.layers.Conv1D(128, 3, activation="relu")(x)
        x = tf.keras.layers.GlobalMaxPooling1D()(x)
        x = tf.keras.layers.Dense(256, activation="relu")(x)
        model = tf.keras.Model(words, tf.keras.layers.Dense(self.teams, activation="softmax")(x))
        model.compile(tf.keras.optimizers.Adam(2e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])
        return model

    def messages(self, n, seed):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, self.teams, n)
        common = rng.integers(0, self.vocab, (n, self.length))
        topical = (y[:, None] * 200 + rng.integers(0, 200, (n, self.length))) % self.vocab
        x = np.where(rng.random((n, self.length)) < 0.3, topical, common)
        return x.astype(np.int32), y.astype(np.int32)

    def check(self, held_out):
        loss, accuracy = self.model.evaluate(*held_out, verbose=0)
        if loss < self.best:
            self.best = loss
            self.model.save(os.path.join(self.workdir, "best.keras"))
            self.saved += 1
        return loss, accuracy

    def train(self, n=7680, batch=64, rounds=1):
        x, y = self.messages(n, seed=1)
        held_out = self.messages(256, seed=2)
        order = np.random.default_rng(0)
        for _ in range(rounds):
            index = order.permutation(n)
            for k in range(0, n, batch):
                rows = index[k:k + batch]
                self.model.train_on_batch(x[rows], y[rows])
                loss, accuracy = self.check(held_out)
                if (k // batch) % 25 == 0:
                    print(f"{k:6d} messages  held out loss {loss:.4f}  accuracy {accuracy:.3f}")
        print(f"best held out loss {self.best:.4f}, improved {self.saved} times")


if __name__ == "__main__":
    IntentRouter().train()
