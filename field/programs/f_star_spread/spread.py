#!/usr/bin/env python3
"""How sure is the network about the stars? Repeated stochastic passes over the same spectra, mean and spread per star."""
import sys

import numpy as np
import tensorflow as tf

PASSES = int(sys.argv[1]) if len(sys.argv) > 1 else 11
LABELS = ("temperature", "gravity", "metallicity")


def spectra(n=2000, bins=600):
    rng = np.random.default_rng(17)
    lines = rng.uniform(0, 1, 40)
    wavelength = np.linspace(0, 1, bins)
    profile = np.exp(-((wavelength[None] - lines[:, None]) ** 2) / 1e-5)
    strength = rng.gamma(2.0, 0.1, (n, 40))
    return (1 - strength @ profile + rng.normal(0, 0.02, (n, bins))).astype(np.float32)


class StarNet(tf.keras.Model):
    def __init__(self, width=3072):
        super().__init__()
        self.hidden = [tf.keras.layers.Dense(width, activation="relu") for _ in range(3)]
        self.drop = tf.keras.layers.Dropout(0.2, noise_shape=(1, width), seed=3)
        self.out = tf.keras.layers.Dense(len(LABELS))

    def call(self, x, training=False):
        for layer in self.hidden:
            x = self.drop(layer(x), training=training)
        return self.out(x)


tf.keras.utils.set_random_seed(17)
net = StarNet()
batch = tf.constant(spectra())
net(batch[:1])

predictions = []
for i in range(PASSES):
    predictions.append(net(batch, training=True))
    print(f"pass {i + 1:2d}  mean {tf.reduce_mean(predictions[-1], 0).numpy().round(4)}")

stack = tf.stack(predictions)
spread = tf.math.reduce_std(stack, axis=0)
for label, column in zip(LABELS, tf.transpose(spread)):
    print(f"{label:12s} spread {float(tf.reduce_mean(column)):.4f}, least sure of star {int(tf.argmax(column))}")
