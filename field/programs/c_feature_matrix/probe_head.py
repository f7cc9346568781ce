"""Linear probe plus MLP head on a large matrix of precomputed features."""
import argparse
import time

import numpy as np
import tensorflow as tf


def load_features(n, dim):
    """Stands in for np.load of the features dumped by the backbone."""
    rng = np.random.default_rng(31)
    x = rng.standard_normal((n, dim), dtype=np.float32)
    y = (x[:, :16].argmax(1)).astype(np.int64)
    return x, y


class Batches(tf.keras.utils.PyDataset):
    def __init__(self, x, y, batch, **kw):
        super().__init__(**kw)
        self.x, self.y, self.batch = x, y, batch
        self.order = np.random.default_rng(0).permutation(len(x))

    def __len__(self):
        return len(self.order) // self.batch

    def __getitem__(self, i):
        idx = self.order[i * self.batch:(i + 1) * self.batch]
        return self.x[idx], self.y[idx]

    def on_epoch_end(self):
        np.random.default_rng(1).shuffle(self.order)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rows", type=int, default=110_000)
    ap.add_argument("--dim", type=int, default=1024)
    ap.add_argument("--batch", type=int, default=512)
    a = ap.parse_args()
    t = time.time()
    x, y = load_features(a.rows, a.dim)
    print("features: %.0f MB in %.1f s" % (x.nbytes / 2 ** 20, time.time() - t))
    model = tf.keras.Sequential([
        tf.keras.Input((a.dim,)),
        tf.keras.layers.Dense(192, activation="relu"),
        tf.keras.layers.Dense(16),
    ])
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    model.fit(Batches(x, y, a.batch), epochs=1, verbose=2)
    p = model.predict(x[:20000], batch_size=1024, verbose=0)
    print("train accuracy on 20k rows: %.3f" % (p.argmax(1) == y[:20000]).mean())


if __name__ == "__main__":
    main()
