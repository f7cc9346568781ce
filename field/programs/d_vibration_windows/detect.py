"""Vibration monitoring: dense autoencoder on sliding windows of a sensor signal.

Train on the healthy part of the recording, then score the newest windows and
report those whose reconstruction error is unusual.
"""

import logging
from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("vibration")


@dataclass
class Settings:
    window: int = 128
    train_points: int = 6000
    score_points: int = 220
    batch: int = 64
    epochs: int = 2
    quantile: float = 0.99


def recording(n, seed=5):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    signal = np.sin(t / 6.0) + 0.4 * np.sin(t / 1.7) + 0.1 * rng.normal(size=n)
    signal[-40:] += rng.normal(scale=1.5, size=40)
    return signal.astype(np.float32)


def make_windows(signal, width):
    signal = tf.constant(signal)
    windows = []
    for start in range(signal.shape[0] - width + 1):
        w = signal[start:start + width]
        w = (w - tf.reduce_mean(w)) / (tf.math.reduce_std(w) + 1e-6)
        windows.append(w)
    return tf.stack(windows)


def autoencoder(width):
    model = tf.keras.Sequential(
        [
            layers.Input((width,)),
            layers.Dense(64, activation="relu"),
            layers.Dense(12, activation="relu"),
            layers.Dense(64, activation="relu"),
            layers.Dense(width),
        ]
    )
    model.compile("adam", "mse")
    return model


def reconstruction_error(model, window):
    rebuilt = model.predict(window[None, :], verbose=0)[0]
    return float(np.mean((rebuilt - window) ** 2))


def main():
    s = Settings()
    signal = recording(s.train_points + s.score_points)
    train = make_windows(signal[:s.train_points], s.window).numpy()
    log.info("training windows %s", train.shape)

    model = autoencoder(s.window)
    model.fit(train, train, batch_size=s.batch, epochs=s.epochs, verbose=2)
    limit = np.quantile(
        np.mean((model.predict(train, batch_size=1024, verbose=0) - train) ** 2, axis=1), s.quantile
    )

    newest = make_windows(signal[s.train_points:], s.window).numpy()
    alarms = 0
    for k, window in enumerate(newest):
        error = reconstruction_error(model, window)
        if error > limit:
            alarms += 1
            if alarms <= 3:
                log.warning("window %d: error %.4f over limit %.4f", k, error, limit)
    log.info("%d alarms in %d windows", alarms, len(newest))


if __name__ == "__main__":
    main()
