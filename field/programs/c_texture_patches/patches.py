"""Classifies texture patches; the preprocessing normalises every patch of the archive."""
import argparse

import numpy as np
import tensorflow as tf


def fake_archive(n, size=32, seed=2):
    rng = np.random.default_rng(seed)
    freq = rng.integers(1, 6, n)
    grid = np.arange(size) / size
    wave = (128 + 80 * np.sin(2 * np.pi * freq[:, None] * grid[None])).astype(np.uint8)
    x = rng.integers(0, 40, (n, size, size, 3), dtype=np.uint8)
    x += wave[:, :, None, None]
    return x, (freq - 1).astype(np.int32)


def normalise(images, labels):
    images = tf.cast(images, tf.float32) / 255.0
    mean, var = tf.nn.moments(images, axes=[1, 2], keepdims=True)
    images = (images - mean) / tf.sqrt(var + 1e-5)
    images = tf.image.adjust_contrast(images, 1.2)
    return images, labels


def input_fn(images, labels, batch, training):
    ds = tf.data.Dataset.from_tensors((images, labels))
    ds = ds.map(normalise, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.unbatch()
    if training:
        ds = ds.shuffle(512)
    return ds.batch(batch).prefetch(tf.data.AUTOTUNE)


def network(classes):
    inputs = tf.keras.Input((32, 32, 3))
    h = tf.keras.layers.Conv2D(12, 5, strides=2, activation="relu")(inputs)
    h = tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu")(h)
    h = tf.keras.layers.Flatten()(h)
    return tf.keras.Model(inputs, tf.keras.layers.Dense(classes)(h))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patches", type=int, default=18000)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()

    x, y = fake_archive(args.patches)
    cut = int(len(x) * 0.9)
    train = input_fn(x[:cut], y[:cut], args.batch, training=True)
    test = input_fn(x[cut:], y[cut:], args.batch, training=False)
    model = network(5)
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    model.fit(train, validation_data=test, epochs=args.epochs, verbose=2)


if __name__ == "__main__":
    main()
