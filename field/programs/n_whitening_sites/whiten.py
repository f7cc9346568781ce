import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import sys
import numpy as np
import tensorflow as tf

# ZCA whitening of the sensor panels, one matrix per site
# coupled Newton iteration: Y -> A^(1/2), Z -> A^(-1/2)

SITES = ["north", "ridge", "lake", "mill", "quay", "fen"]
DIM = int(sys.argv[1]) if len(sys.argv) > 1 else 820
COND = 1e9
MAX_ITER = 60
TOL = 1e-6


def site_covariance(k):
    g = tf.random.Generator.from_seed(100 + k)
    q, _ = tf.linalg.qr(g.normal((DIM, 48), dtype=tf.float64))
    p = q
    # a few strong directions over a long decaying floor
    floor = tf.exp(-np.log(COND) * tf.random.stateless_uniform((DIM,), (k, 1), dtype=tf.float64))
    strong = tf.linspace(tf.constant(1.0, tf.float64), 20.0, 48)
    a = tf.linalg.diag(floor) + tf.matmul(p * strong, p, transpose_b=True)
    return (a + tf.transpose(a)) / 2


def inverse_root(a):
    eye = tf.eye(DIM, dtype=a.dtype)
    scale = tf.linalg.norm(a)
    y, z = a / scale, eye
    residuals = []
    for it in range(MAX_ITER):
        t = (3.0 * eye - tf.matmul(z, y)) / 2.0
        y = tf.matmul(y, t)
        z = tf.matmul(t, z)
        r = float(tf.linalg.norm(eye - t) / np.sqrt(DIM))
        residuals.append(r)
        if r < TOL:
            break
    return z / tf.sqrt(scale), residuals


history = {}
for k, site in enumerate(SITES):
    cov = site_covariance(k)
    w, res = inverse_root(cov)
    history[site] = res
    check = tf.matmul(tf.matmul(w, cov), w)
    err = tf.reduce_max(tf.abs(check - tf.eye(DIM, dtype=cov.dtype))).numpy()
    print(f"{site:<6} {len(res):3d} iterations  residual {res[-1]:.2e}  |WAW-I| {err:.2e}  trace(W) {tf.linalg.trace(w).numpy():.3f}")

print("iterations in all:", sum(len(r) for r in history.values()))
print("slowest site:", max(history, key=lambda s: len(history[s])))
for site in SITES[:2]:
    print(site, " ".join("%.1e" % r for r in history[site][::6]))
