import numpy as np


def scenes(count, size, seed):
    """Grey harbour scenes with one to three bright hulls, and their masks."""
    rng = np.random.default_rng(seed)
    rows, cols = np.mgrid[:size, :size].astype(np.float32)
    images = rng.normal(0.3, 0.1, (count, size, size)).astype(np.float32)
    masks = np.zeros((count, size, size), np.float32)
    for k in range(count):
        for _ in range(rng.integers(1, 4)):
            y, x = rng.uniform(10, size - 10, 2)
            a, b, turn = rng.uniform(6, 14), rng.uniform(2, 5), rng.uniform(0, np.pi)
            u = (cols - x) * np.cos(turn) + (rows - y) * np.sin(turn)
            v = (rows - y) * np.cos(turn) - (cols - x) * np.sin(turn)
            inside = (u / a) ** 2 + (v / b) ** 2 < 1
            masks[k][inside] = 1
            images[k][inside] += rng.uniform(0.2, 0.5)
    return images[..., None], masks[..., None]
