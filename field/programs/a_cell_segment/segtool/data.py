import numpy as np
import tensorflow as tf


def cells(n, size, classes, seed=0):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:size, :size]
    images = np.zeros((n, size, size, 1), "float32")
    masks = np.zeros((n, size, size), "int32")
    for k in range(n):
        for _ in range(4):
            cy, cx, r = rng.integers(4, size - 4), rng.integers(4, size - 4), rng.integers(2, 6)
            inside = (yy - cy) ** 2 + (xx - cx) ** 2 < r * r
            kind = int(rng.integers(1, classes))
            masks[k][inside] = kind
            images[k][inside] = kind / classes
    return images + 0.1 * rng.normal(size=images.shape).astype("float32"), masks


def dataset(cfg, classes):
    x, y = cells(cfg["images"], cfg["size"], classes)
    return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(cfg["images"]).batch(cfg["batch"])
