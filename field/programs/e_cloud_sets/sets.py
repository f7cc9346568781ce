"""Permutation-invariant regression on point clouds of different sizes: how many clusters are there?"""
import argparse

import keras
import numpy as np
from keras import layers, ops


class PointClouds(keras.utils.PyDataset):
    def __init__(self, batches, batch, low, high, seed):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.items = []
        for n in rng.permutation(np.linspace(low, high, batches).astype(int)):
            k = rng.integers(1, 6, batch)
            centres = rng.normal(0, 3, (batch, 5, 3))
            which = rng.integers(0, 5, (batch, n)) % k[:, None]
            pts = np.take_along_axis(centres, which[..., None], 1) + 0.2 * rng.normal(size=(batch, n, 3))
            self.items.append((pts.astype("float32"), k.astype("float32")))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class SetEncoder(layers.Layer):
    def __init__(self, width):
        super().__init__()
        self.local = [layers.Dense(width, activation="silu") for _ in range(3)]
        self.context = [layers.Dense(width) for _ in range(3)]

    def call(self, x):
        for a, b in zip(self.local, self.context):
            pooled = ops.concatenate([ops.mean(x, 1, keepdims=True), ops.max(x, 1, keepdims=True)], -1)
            x = a(x) + b(pooled)
        return ops.logsumexp(x, axis=1)


def main(argv=None):
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--batches", type=int, default=14)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--points", type=int, nargs=2, default=(24, 120))
    ap.add_argument("--width", type=int, default=48)
    ap.add_argument("--xla", action=argparse.BooleanOptionalAction, default=True)
    args = ap.parse_args(argv)

    keras.utils.set_random_seed(2)
    inp = keras.Input((None, 3))
    h = SetEncoder(args.width)(inp)
    h = layers.Dense(args.width, activation="silu")(h)
    model = keras.Model(inp, layers.Dense(1)(h))
    model.compile(keras.optimizers.Adam(2e-3), "huber", metrics=["mae"], jit_compile=args.xla)
    model.fit(PointClouds(args.batches, args.batch, *args.points, seed=4), epochs=args.epochs, verbose=2)


if __name__ == "__main__":
    main()
