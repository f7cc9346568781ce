"""Compares the molecules of a screening library with known binders; each gets its five nearest."""
import argparse

import numpy as np
import tensorflow as tf


def library(n, bits, families, seed):
    scaffolds = np.random.default_rng(99).normal(0, 1, (families, bits))
    rng = np.random.default_rng(seed)
    family = rng.integers(0, families, n)
    points = scaffolds[family] + rng.normal(0, 0.6, (n, bits))
    return points.astype(np.float32), family


@tf.function
def distances(a, b):
    difference = tf.expand_dims(a, 1) - tf.expand_dims(b, 0)
    return tf.sqrt(tf.reduce_sum(tf.square(difference), axis=-1))


def nearest(queries, known, k):
    d = distances(queries, known)
    values, index = tf.math.top_k(-d, k)
    return -values.numpy(), index.numpy()


def main(argv=None):
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--plates", type=int, default=48)
    ap.add_argument("--molecules", type=int, default=1200, help="per plate")
    ap.add_argument("--binders", type=int, default=1600)
    ap.add_argument("--bits", type=int, default=128)
    ap.add_argument("-k", type=int, default=5)
    args = ap.parse_args(argv)

    known, known_family = library(args.binders, args.bits, 40, seed=0)
    agree = 0
    for plate in range(args.plates):
        molecules, family = library(args.molecules, args.bits, 40, seed=1 + plate)
        d, index = nearest(tf.constant(molecules), tf.constant(known), args.k)
        agree += int((known_family[index[:, 0]] == family).sum())
        if plate % 8 == 0:
            print(f"plate {plate:2d}: median nearest {np.median(d[:, 0]):.3f}, farthest of {args.k} {d.max():.3f}")
    print("same family as the nearest binder:", agree)


if __name__ == "__main__":
    main()
