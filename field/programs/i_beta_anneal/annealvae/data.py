import numpy as np
import tensorflow as tf


def bars(count, side, rng):
    """Pictures with one horizontal and one vertical soft bar."""
    axis = np.arange(side)
    row = rng.uniform(3, side - 3, (count, 1))
    col = rng.uniform(3, side - 3, (count, 1))
    width = rng.uniform(1.0, 3.0, (count, 1))
    h = np.exp(-((axis - row) / width) ** 2)
    v = np.exp(-((axis - col) / width) ** 2)
    return np.maximum(h[:, :, None], v[:, None, :]).astype("float32").reshape(count, -1)


def make_dataset(cfg):
    x = bars(cfg.samples, cfg.model.side, np.random.default_rng(cfg.seed))
    ds = tf.data.Dataset.from_tensor_slices(x).shuffle(cfg.samples, seed=cfg.seed).repeat()
    return ds.batch(cfg.batch).prefetch(tf.data.AUTOTUNE)
