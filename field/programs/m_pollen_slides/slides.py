"""Synthetic microscope slides, written as one JPEG per grain (the real set is on the lab share)."""
import os

import numpy as np
import tensorflow as tf

CLASSES = ["alnus", "betula", "corylus", "poaceae"]


def _grain(rng, label, size):
    small = size // 4
    yy, xx = np.mgrid[0:small, 0:small].astype("float32") / small - 0.5
    cx, cy = rng.uniform(-0.12, 0.12, 2)
    r = np.hypot(xx - cx, (yy - cy) * (1.0 + 0.15 * label))
    theta = np.arctan2(yy - cy, xx - cx)
    radius = 0.22 + 0.03 * np.cos((3 + label) * theta + rng.uniform(0, 6.28))
    body = 1.0 / (1.0 + np.exp((r - radius) * 60))
    ring = np.exp(-((r - radius) ** 2) * 900)
    tint = 0.12 * (label - 1.5) * body
    base = np.stack([0.8 - 0.3 * body + tint, 0.75 - 0.4 * body + 0.1 * ring, 0.75 - 0.2 * ring - tint], -1)
    base += rng.normal(0, 0.05, (small, small, 1))
    return np.clip(base, 0, 1).repeat(4, 0).repeat(4, 1)


def write_slides(folder, count, size, seed=3):
    rng = np.random.default_rng(seed)
    files, labels = [], []
    for i in range(count):
        label = int(rng.integers(len(CLASSES)))
        name = os.path.join(folder, f"{CLASSES[label]}_{i:04d}.jpg")
        image = (_grain(rng, label, size) * 255).astype("uint8")
        tf.io.write_file(name, tf.io.encode_jpeg(image, quality=92))
        files.append(name)
        labels.append(label)
    return files, labels
