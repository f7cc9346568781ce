#!/usr/bin/env python
"""Find the catalogue pictures that look most like a set of query pictures.

    lookup.py --gallery 50 --queries 70 --top 5
"""
import argparse
import logging

import numpy as np
import tensorflow as tf

log = logging.getLogger("lookup")


class Encoder:
    """Turns a picture into nine unit vectors, one for each part of it."""

    def __init__(self, size=48, dim=64, seed=5):
        tf.keras.utils.set_random_seed(seed)
        layers = tf.keras.layers
        self.net = tf.keras.Sequential([
            tf.keras.Input((size, size, 3)),
            layers.Rescaling(1 / 255.0),
            layers.Conv2D(16, 3, strides=2, activation="relu"),
            layers.Conv2D(32, 3, strides=2, activation="relu"),
            layers.AveragePooling2D(3),
            layers.Reshape((9, 32)),
            layers.Dense(dim),
            layers.UnitNormalization(),
        ])

    def encode(self, picture):
        return self.net.predict(picture[np.newaxis], verbose=0)[0]


class Index:
    def __init__(self):
        self.names, self.vectors = [], []

    def add(self, name, parts):
        for vector in parts:
            self.names.append(name)
            self.vectors.append(tf.convert_to_tensor(vector))

    def nearest(self, vector, top):
        scored = []
        for name, other in zip(self.names, self.vectors):
            distance = tf.sqrt(tf.reduce_sum(tf.square(vector - other)))
            scored.append((float(distance), name))
        scored.sort()
        return scored[:top]


def catalogue(count, size, seed):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:size, 0:size] / size
    for i in range(count):
        phase, fx, fy = rng.uniform(0, 6), rng.uniform(2, 14), rng.uniform(2, 14)
        plane = 127 + 120 * np.sin(fx * xx + fy * yy + phase)
        tint = rng.uniform(0.3, 1.0, 3)
        yield "item-%04d" % i, (plane[..., None] * tint).astype(np.uint8)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--gallery", type=int, default=50)
    p.add_argument("--queries", type=int, default=70)
    p.add_argument("--size", type=int, default=48)
    p.add_argument("--top", type=int, default=5)
    a = p.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")

    encoder, index = Encoder(a.size), Index()
    for name, picture in catalogue(a.gallery, a.size, seed=1):
        index.add(name, encoder.encode(picture))
    log.info("indexed %d vectors", len(index.names))

    spread = []
    for name, picture in catalogue(a.queries, a.size, seed=2):
        hits = index.nearest(encoder.encode(picture).mean(axis=0), a.top)
        spread.append(hits[-1][0] - hits[0][0])
        if len(spread) % 15 == 0:
            log.info("%s -> %s", name, ", ".join("%s (%.3f)" % (n, d) for d, n in hits))
    log.info("mean spread of the hits %.4f", np.mean(spread))


if __name__ == "__main__":
    main()
