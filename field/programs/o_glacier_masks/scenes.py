"""Synthetic multispectral glacier tiles (ice tongue over a noisy valley)."""
import numpy as np


def tile(rng, size, bands):
    y, x = np.mgrid[0:size, 0:size].astype(np.float32) / size
    mid = 0.5 + 0.2 * np.sin(3 * y + rng.uniform(0, 6))
    width = 0.1 + 0.15 * rng.uniform() * (1 - y)
    ice = (np.abs(x - mid) < width) & (y < rng.uniform(0.5, 1.0))
    slope = 0.3 * np.sin(5 * x + rng.uniform(0, 6)) * np.cos(4 * y)
    img = np.empty((size, size, bands), np.float32)
    for b in range(bands):
        img[..., b] = slope + ice * (0.5 + 0.1 * b) + 0.25 * rng.standard_normal((size, size))
    return img, ice[..., None].astype(np.float32)


def build(n, size, bands, seed):
    rng = np.random.default_rng(seed)
    imgs = np.empty((n, size, size, bands), np.float32)
    masks = np.empty((n, size, size, 1), np.float32)
    for i in range(n):
        imgs[i], masks[i] = tile(rng, size, bands)
    return imgs, masks
