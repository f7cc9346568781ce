import os

import numpy as np

SIZE = 48


def write_tiles(folder, n, seed=14):
    rng = np.random.default_rng(seed)
    names = []
    for i in range(n):
        tile = rng.random((SIZE, SIZE, 4)).astype("float32")
        mask = (tile.mean(-1, keepdims=True) > 0.5).astype("float32")
        name = os.path.join(folder, f"tile_{i:05d}.npz")
        np.savez_compressed(name, tile=(tile * 255).astype("uint8"), mask=mask.astype("uint8"))
        names.append(name)
    return names


def brightness(tile):
    """Brightness per pixel, with the saturated bands left out."""
    out = np.zeros((SIZE, SIZE, 1), "float32")
    for r in range(SIZE):
        for c in range(SIZE):
            bands = [b for b in tile[r, c] if b < 0.99]
            out[r, c, 0] = sum(bands) / len(bands) if bands else 1.0
    return out
