"""Noise models for the harbour camera frames."""
import numpy as np
import tensorflow.compat.v1 as tf


def add_noise(data, sigma, sess):
    noise = sigma / 255.0 * sess.run(tf.truncated_normal(data.shape))
    return (data + noise).astype(np.float32)


def psnr(a, b):
    mse = np.mean(np.square(np.clip(a, 0, 1) - np.clip(b, 0, 1)))
    return 10.0 * np.log10(1.0 / max(mse, 1e-10))


def hot_pixels(data, share, rng):
    out = data.copy()
    mask = rng.random_sample(out.shape) < share
    out[mask] = 1.0
    return out
