import time

import numpy as np
import tensorflow as tf

SIDE, CHANNELS, N = 26, 3, 6000
DIM = SIDE * SIDE * CHANNELS


def patches(seed=14):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:1:SIDE * 1j, 0:1:SIDE * 1j].astype(np.float32)
    kind = rng.integers(0, 6, N)
    angle = (kind * np.pi / 6).astype(np.float32)[:, None, None]
    freq = rng.uniform(15, 30, (N, 1, 1)).astype(np.float32)
    wave = np.sin(freq * (np.cos(angle) * xx + np.sin(angle) * yy))
    tint = rng.uniform(0.2, 1, (N, 1, 1, CHANNELS)).astype(np.float32)
    x = wave[..., None] * tint + rng.standard_normal((N, SIDE, SIDE, CHANNELS), dtype=np.float32) * 0.4
    return x.reshape(N, DIM), kind


def zca(x, eps=0.05):
    x = x - x.mean(axis=0)
    cov = x.T @ x / len(x)
    values, vectors = np.linalg.eigh(cov)
    transform = (vectors / np.sqrt(values + np.float32(eps))) @ vectors.T
    return x @ transform


t0 = time.time()
x, kind = patches()
print("patches %s in %.1f s" % (x.shape, time.time() - t0))
t0 = time.time()
x = zca(x).reshape(N, SIDE, SIDE, CHANNELS)
print("whitened in %.1f s, dtype %s" % (time.time() - t0, x.dtype))

tf.keras.utils.set_random_seed(0)
model = tf.keras.Sequential([
    tf.keras.Input((SIDE, SIDE, CHANNELS)),
    tf.keras.layers.Conv2D(16, 7, strides=2, activation="relu"),
    tf.keras.layers.Conv2D(24, 3, activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(6),
])
model.compile(tf.keras.optimizers.Adam(3e-3), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(x[:4800], kind[:4800], batch_size=100, epochs=2, verbose=2)
print("test", model.evaluate(x[4800:], kind[4800:], batch_size=200, verbose=0))
