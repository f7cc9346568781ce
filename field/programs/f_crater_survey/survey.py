"""Counts craters on the tiles of a lunar survey. One .npy per tile, in the order of the orbit."""
import csv
import glob
import os
import tempfile

import numpy as np
import tensorflow as tf

TILE = 128


def write_tiles(folder, n):
    rng = np.random.default_rng(5)
    for i in range(n):
        tile = rng.normal(100, 15, (TILE, TILE))
        for _ in range(rng.integers(0, 5)):
            cy, cx, r = rng.integers(10, TILE - 10, 2).tolist() + [int(rng.integers(4, 12))]
            tile[max(0, cy - r):cy + r, max(0, cx - r):cx + r] += 60
        np.save(os.path.join(folder, f"orbit_{i:05d}.npy"), np.clip(tile, 0, 255).astype(np.uint8))


def counter():
    tf.keras.utils.set_random_seed(8)
    k = tf.keras.layers
    tile = k.Input((TILE, TILE, 1))
    x = k.Rescaling(1 / 255)(tile)
    for filters in (32, 48, 64):
        x = k.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = k.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = k.MaxPooling2D()(x)
    heat = k.Conv2D(1, 1, activation="sigmoid")(x)
    return tf.keras.Model(tile, heat)


def chunks(items, n):
    return (items[i:i + n] for i in range(0, len(items), n))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="lunar_") as folder:
        write_tiles(folder, 1120)
        model = counter()
        results = []
        for names in chunks(sorted(glob.glob(folder + "/*.npy")), 16):
            tiles = np.stack([np.load(name) for name in names])[..., None].astype(np.float32)
            heat = model.predict_on_batch(tiles)
            for name, h in zip(names, heat):
                results.append((os.path.basename(name), float(h.max()), int((h > 0.5).sum())))
        with open(os.path.join(folder, "craters.csv"), "w", newline="") as f:
            csv.writer(f).writerows(results)
        print(len(results), "tiles; brightest", max(results, key=lambda r: r[1]))
