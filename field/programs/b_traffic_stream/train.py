"""Counts cars on simulated camera frames that are drawn while training runs."""
import argparse

import numpy as np
import tensorflow as tf


def camera(n, size, seed):
    def frames():
        rng = np.random.default_rng(seed)
        for _ in range(n):
            frame = rng.normal(0, 0.1, (size, size, 1)).astype("float32")
            cars = int(rng.integers(0, 6))
            for _ in range(cars):
                r, c = rng.integers(0, size - 8, 2)
                frame[r : r + 5, c : c + 8] += 1.0
            yield frame, np.float32(cars)

    return frames


def build(size):
    k = tf.keras.layers
    return tf.keras.Sequential([
        k.Input((size, size, 1)),
        k.Conv2D(32, 5, padding="same", activation="relu"),
        k.Conv2D(32, 3, padding="same", activation="relu"),
        k.MaxPooling2D(),
        k.Conv2D(64, 3, padding="same", activation="relu"),
        k.GlobalAveragePooling2D(),
        k.Dense(1),
    ])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--frames", type=int, default=288)
    ap.add_argument("--size", type=int, default=96)
    ap.add_argument("--epochs", type=int, default=2)
    a = ap.parse_args()
    ds = tf.data.Dataset.from_generator(
        camera(a.frames, a.size, 3),
        output_signature=(tf.TensorSpec((a.size, a.size, 1)), tf.TensorSpec(())),
    )
    ds = ds.batch(16).prefetch(tf.data.AUTOTUNE)
    model = build(a.size)
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(ds, epochs=a.epochs, verbose=2)


if __name__ == "__main__":
    main()
