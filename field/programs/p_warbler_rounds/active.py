"""Pool-based active learning with Monte Carlo dropout (BALD) on song spectrograms."""
import argparse

import keras
import numpy as np
import tensorflow as tf
from keras import layers


def songs(n, species, rng):
    y = rng.integers(0, species, n)
    t = np.linspace(0, 1, 40)[None, :, None]
    f = np.linspace(0, 1, 40)[None, None, :]
    track = 0.2 + 0.6 * np.abs(np.sin((1 + y[:, None, None] * 0.6) * np.pi * t + rng.uniform(0, 0.6, (n, 1, 1))))
    x = np.exp(-((f - track) ** 2) / 0.003) + rng.normal(0, 0.55, (n, 40, 40))
    return x[..., None].astype("float32"), y.astype("int32")


def build(species):
    return keras.Sequential([
        keras.Input((40, 40, 1)),
        layers.Conv2D(16, 3, activation="relu"), layers.MaxPooling2D(),
        layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(),
        layers.Dropout(0.25), layers.Flatten(),
        layers.Dense(96, activation="relu"), layers.Dropout(0.5),
        layers.Dense(species, activation="softmax"),
    ])


class BALD:
    def __init__(self, model, draws, batch):
        self.model, self.draws, self.batch = model, draws, batch
        self.forward = tf.function(lambda x: model(x, training=True))

    def probabilities(self, x):
        out = []
        for _ in range(self.draws):
            p = [self.forward(x[i:i + self.batch]) for i in range(0, len(x), self.batch)]
            out.append(np.concatenate([q.numpy() for q in p]))
        return np.stack(out)

    def scores(self, x):
        p = self.probabilities(x)
        mean = p.mean(0)
        total = -(mean * np.log(mean + 1e-9)).sum(-1)
        expected = -(p * np.log(p + 1e-9)).sum(-1).mean(0)
        return total - expected


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--query", type=int, default=160)
    ap.add_argument("--start", type=int, default=320)
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--draws", type=int, default=6)
    args = ap.parse_args()
    keras.utils.set_random_seed(17)
    rng = np.random.default_rng(17)
    x, y = songs(3200, 9, rng)
    xt, yt = songs(800, 9, rng)
    known = np.zeros(len(x), bool)
    known[rng.choice(len(x), args.start, replace=False)] = True

    model = build(9)
    model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    bald = BALD(model, args.draws, 160)
    curve = []
    for r in range(args.rounds):
        model.fit(x[known], y[known], batch_size=32, epochs=args.epochs, verbose=0)
        loss, acc = model.evaluate(xt, yt, batch_size=200, verbose=0)
        curve.append((int(known.sum()), acc))
        print("round %d: %4d labels  test loss %.3f  acc %.3f" % (r, known.sum(), loss, acc), flush=True)
        pool = np.flatnonzero(~known)
        pick = np.argsort(-bald.scores(x[pool]))[:args.query]
        known[pool[pick]] = True
    print(curve)


if __name__ == "__main__":
    main()
