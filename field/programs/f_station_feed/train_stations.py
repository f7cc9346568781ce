#!/usr/bin/env python
"""One forecaster for all weather stations, trained station by station from their archives."""
import os
import tempfile
from dataclasses import dataclass

import numpy as np
import tensorflow as tf


@dataclass
class Settings:
    stations: int = 12
    rows: int = 120_000
    channels: int = 160
    batch: int = 256
    used: int = 6_400
    seed: int = 8


def write_archives(cfg, folder):
    rng = np.random.default_rng(cfg.seed)
    mix = rng.normal(0, 1, (8, cfg.channels)).astype(np.float32)
    paths = []
    for s in range(cfg.stations):
        drivers = rng.normal(0, 1, (cfg.rows, 8)).astype(np.float32)
        path = os.path.join(folder, f"station_{s:02d}.npy")
        np.save(path, drivers @ mix)
        paths.append(path)
    return paths


def station_dataset(path, cfg):
    archive = np.load(path)
    picks = np.random.default_rng(cfg.seed).integers(0, len(archive) - 1, cfg.used)

    def rows():
        for i in picks:
            yield archive[i], archive[i + 1, :4]

    ds = tf.data.Dataset.from_generator(
        rows,
        output_signature=(tf.TensorSpec((cfg.channels,), tf.float32), tf.TensorSpec((4,), tf.float32)),
    )
    return ds.batch(cfg.batch).prefetch(2)


def forecaster(cfg):
    inputs = tf.keras.Input((cfg.channels,))
    x = tf.keras.layers.Dense(128, activation="relu")(inputs)
    x = tf.keras.layers.Dense(64, activation="relu")(x)
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(4)(x))
    return model, tf.keras.optimizers.Adam(1e-3)


def main():
    cfg = Settings()
    tf.keras.utils.set_random_seed(cfg.seed)
    model, optimizer = forecaster(cfg)

    @tf.function
    def update(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    with tempfile.TemporaryDirectory(prefix="stations_") as folder:
        for path in write_archives(cfg, folder):
            mean = tf.keras.metrics.Mean()
            for x, y in station_dataset(path, cfg):
                mean(update(x, y))
            print(os.path.basename(path), "mse %.4f" % mean.result())


if __name__ == "__main__":
    main()
