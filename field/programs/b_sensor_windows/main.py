"""Anomaly scores for pump vibration windows (one autoencoder for all pumps)."""
import argparse
import logging

import numpy as np
import tensorflow as tf

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("pumps")


class WindowStream:
    def __init__(self, series, window, stride):
        self.series = series
        self.window = window
        self.stride = stride

    def __len__(self):
        return (len(self.series) - self.window) // self.stride

    def __call__(self):
        for i in range(len(self)):
            w = self.series[i * self.stride: i * self.stride + self.window]
            med = np.median(w)
            mad = np.median(np.abs(w - med)) + 1e-6
            w = np.clip((w - med) / mad, -5, 5).astype(np.float32)
            yield w, w


def autoencoder(window, code):
    return tf.keras.Sequential([
        tf.keras.Input((window,)),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(code),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(window),
    ])


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--window", type=int, default=128)
    parser.add_argument("--stride", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    opts = parser.parse_args(argv)

    rng = np.random.default_rng(6)
    series = np.sin(np.arange(51328) / 9.0) + 0.2 * rng.normal(size=51328)
    stream = WindowStream(series, opts.window, opts.stride)
    spec = tf.TensorSpec((opts.window,), tf.float32)
    ds = tf.data.Dataset.from_generator(stream, output_signature=(spec, spec))
    ds = ds.batch(opts.batch).prefetch(tf.data.AUTOTUNE)

    model = autoencoder(opts.window, 12)
    model.compile("adam", "mse")
    model.fit(ds, epochs=opts.epochs, verbose=2)

    suspects = []
    holdout = [w for w, _ in WindowStream(series[-2400:], opts.window, 48)()]
    for k, w in enumerate(holdout):
        rebuilt = model.predict(w[None], verbose=0)[0]
        score = float(np.mean((rebuilt - w) ** 2))
        if score > 0.8:
            suspects.append((k, score))
    log.info("%d of %d windows flagged", len(suspects), len(holdout))


if __name__ == "__main__":
    main()
