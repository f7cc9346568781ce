"""Picks the length scale and noise of a Gaussian process for tide residuals by marginal likelihood."""
import itertools
import math

import numpy as np
import tensorflow as tf

N = 2000
rng = np.random.default_rng(23)
when = np.sort(rng.uniform(0, 30, N))
height = np.sin(2 * math.pi * when / 0.52) * 0.4 + np.sin(2 * math.pi * when / 13) + rng.normal(0, 0.003, N)

t = tf.constant(when, tf.float64)[:, None]
y = tf.constant(height, tf.float64)[:, None]


@tf.function
def log_evidence(scale, noise):
    k = tf.exp(-0.5 * tf.square((t - tf.transpose(t)) / scale))
    k = tf.linalg.set_diag(k, tf.linalg.diag_part(k) + tf.square(noise))
    chol = tf.linalg.cholesky(k)
    alpha = tf.linalg.triangular_solve(chol, y)
    return (-0.5 * tf.reduce_sum(tf.square(alpha)) - tf.reduce_sum(tf.math.log(tf.linalg.diag_part(chol)))
            - 0.5 * N * math.log(2 * math.pi))


scores = {}
for scale, noise in itertools.product(np.geomspace(0.05, 1.0, 8), np.geomspace(2e-4, 2e-2, 10)):
    scores[scale, noise] = float(log_evidence(tf.constant(scale, tf.float64), tf.constant(noise, tf.float64)))
best = max(scores, key=scores.get)
for key in sorted(scores, key=scores.get, reverse=True)[:4]:
    print("scale %.3f noise %.5f evidence %.1f" % (*key, scores[key]))
print("chosen", best)
