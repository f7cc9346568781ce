"""Forecast the outlet pressure of a pump from the last two minutes of its sensors."""
import argparse

import numpy as np
import tensorflow as tf

COLUMNS = ["pressure", "flow", "current", "vibration", "temperature", "valve"]


def simulate(hours, seed=3):
    rng = np.random.default_rng(seed)
    n = int(hours * 1800)
    t = np.arange(n, dtype=np.float32)
    base = np.sin(t / 97.0) + 0.5 * np.sin(t / 23.0 + 1.0)
    table = {}
    for i, name in enumerate(COLUMNS):
        noise = rng.normal(0, 0.15, n).cumsum() * 0.02
        table[name] = (base * (1 - 0.12 * i) + noise + rng.normal(0, 0.05, n)).astype(np.float32)
    return table


def make_windows(table, lags, horizon, batch_size):
    length = lags + horizon
    ds = tf.data.Dataset.from_tensor_slices(table)
    ds = ds.window(length, shift=1, drop_remainder=True)

    def collect(columns):
        return tf.data.Dataset.zip({k: v.batch(length) for k, v in columns.items()})

    ds = ds.flat_map(collect)

    def split(columns):
        x = tf.stack([columns[k][:lags] for k in COLUMNS], axis=-1)
        y = columns["pressure"][lags:]
        return x, y

    return ds.map(split).shuffle(2000, seed=11).batch(batch_size).prefetch(tf.data.AUTOTUNE)


def build(lags, horizon):
    inputs = tf.keras.Input((lags, len(COLUMNS)))
    x = tf.keras.layers.Conv1D(24, 5, strides=2, activation="relu")(inputs)
    x = tf.keras.layers.Conv1D(24, 5, strides=2, activation="relu")(x)
    x = tf.keras.layers.Flatten()(x)
    outputs = tf.keras.layers.Dense(horizon)(x)
    model = tf.keras.Model(inputs, outputs)
    model.compile("adam", "mse", metrics=["mae"])
    return model


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--hours", type=float, default=2.25)
    parser.add_argument("--lags", type=int, default=60)
    parser.add_argument("--horizon", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=6)
    args = parser.parse_args()

    tf.keras.utils.set_random_seed(1)
    table = simulate(args.hours)
    train = make_windows(table, args.lags, args.horizon, args.batch_size)
    model = build(args.lags, args.horizon)
    model.fit(train, epochs=args.epochs, verbose=2)
    holdout = make_windows(simulate(0.25, seed=4), args.lags, args.horizon, args.batch_size)
    print("holdout mse %.4f mae %.4f" % tuple(model.evaluate(holdout, verbose=0)))
