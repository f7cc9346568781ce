"""ZCA whitening matrix of a feature dump by Newton-Schulz iteration (no eigen decomposition on the cluster's old LAPACK)."""
import argparse

import numpy as np
import tensorflow as tf


def covariance(features):
    centred = features - tf.reduce_mean(features, axis=0, keepdims=True)
    return tf.matmul(centred, centred, transpose_a=True) / float(features.shape[0] - 1)


@tf.function
def iterate(y, z, identity):
    t = 0.5 * (3.0 * identity - tf.matmul(z, y))
    return tf.matmul(y, t), tf.matmul(t, z), tf.reduce_max(tf.abs(t - identity))


def inverse_sqrt(matrix, iterations, tolerance):
    identity = tf.eye(matrix.shape[0])
    norm = tf.norm(matrix)
    y, z = matrix / norm, identity
    for i in range(iterations):
        y, z, off = iterate(y, z, identity)
        off = float(off)
        print(f"iteration {i:2d}  max |T - I| = {off:.3e}")
        if off < tolerance:
            break
    return z / tf.sqrt(norm)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--features", type=int, default=2000)
    ap.add_argument("--samples", type=int, default=6000)
    ap.add_argument("--iterations", type=int, default=18)
    ap.add_argument("--shrinkage", type=float, default=0.1)
    args = ap.parse_args()
    rng = np.random.default_rng(9)
    dump = rng.normal(size=(args.samples, args.features)).astype(np.float32)
    dump *= rng.uniform(0.2, 3.0, args.features).astype(np.float32)
    cov = covariance(tf.constant(dump)) + args.shrinkage * tf.eye(args.features)
    w = inverse_sqrt(cov, args.iterations, 1e-6)
    check = tf.matmul(tf.matmul(w, cov), w, transpose_b=True)
    print("whitening error %.2e" % float(tf.reduce_max(tf.abs(check - tf.eye(args.features)))))


if __name__ == "__main__":
    main()
