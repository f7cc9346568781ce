"""Writes the practice archive: one folder per diagnosis, one PNG per eye scan."""
import pathlib

import numpy as np
import tensorflow as tf

DIAGNOSES = ("drusen", "edema", "normal")


def write_archive(root, per_class, side, seed=5):
    rng = np.random.default_rng(seed)
    rows = np.linspace(0, 1, side)[:, None]
    for number, name in enumerate(DIAGNOSES):
        folder = pathlib.Path(root) / name
        folder.mkdir(parents=True)
        for i in range(per_class):
            wave = 0.1 * np.sin(np.linspace(0, (number + 1) * 5, side) + rng.uniform(0, 6))
            layer = np.exp(-((rows - 0.5 - wave[None, :]) ** 2) / 0.01)
            scan = 170 * layer + rng.normal(30, 12, (side, side))
            png = tf.io.encode_png(np.clip(scan, 0, 255).astype(np.uint8)[..., None])
            tf.io.write_file(str(folder / f"eye_{i:04d}.png"), png)
    return root
