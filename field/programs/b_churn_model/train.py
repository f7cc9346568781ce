"""Keeps a churn model up to date from the daily account export."""

import argparse

import numpy as np
import tensorflow as tf
from tensorflow import keras

FEATURES = 24


def export_days(n_days, rows, seed):
    rng = np.random.default_rng(seed)
    drift = rng.normal(size=(FEATURES,)).astype("float32")
    for day in range(n_days):
        drift = drift + 0.01 * rng.normal(size=(FEATURES,)).astype("float32")
        x = rng.normal(size=(rows, FEATURES)).astype("float32")
        logit = x @ drift
        y = (rng.random(rows) < 1.0 / (1.0 + np.exp(-logit))).astype("float32")
        yield day, x, y


def build(hidden, lr):
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.Dense(hidden, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(hidden // 2, activation="relu"),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(keras.optimizers.Adam(lr), "binary_crossentropy", metrics=["accuracy"])
    return model


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--days", type=int, default=150)
    ap.add_argument("--rows", type=int, default=64)
    ap.add_argument("--hidden", type=int, default=64)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--seed", type=int, default=11)
    args = ap.parse_args()

    keras.utils.set_random_seed(args.seed)
    model = build(args.hidden, args.lr)
    losses = []
    for day, x, y in export_days(args.days, args.rows, args.seed):
        result = model.fit(x, y, batch_size=args.rows, epochs=1, verbose=0)
        losses.append(result.history["loss"][0])
        if day % 25 == 0:
            print(f"day {day:4d}  loss {np.mean(losses[-25:]):.4f}")
    print("final", np.mean(losses[-25:]))


if __name__ == "__main__":
    main()
