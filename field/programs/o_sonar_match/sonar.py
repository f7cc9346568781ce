"""Side-scan sonar snippets: few labelled, many unlabelled."""
import numpy as np
import tensorflow as tf


def snippets(n, size, classes, rng):
    y = rng.integers(0, classes, n)
    g = np.linspace(-1, 1, size)
    yy, xx = np.meshgrid(g, g, indexing="ij")
    out = np.empty((n, size, size, 1), np.float32)
    for i, k in enumerate(y):
        ang = rng.uniform(-0.4, 0.4) + k * np.pi / classes
        u = xx * np.cos(ang) + yy * np.sin(ang)
        v = -xx * np.sin(ang) + yy * np.cos(ang)
        body = np.exp(-(u / 0.5) ** 2 - (v / (0.1 + 0.05 * (k % 3))) ** 2)
        shadow = np.exp(-(u / 0.5) ** 2 - ((v - 0.35) / 0.15) ** 2)
        out[i, ..., 0] = (body - 0.7 * shadow + 0.3) * rng.gamma(4.0, 0.25, (size, size))
    return out, y.astype(np.int32)


def weak(x):
    x = tf.image.random_flip_up_down(tf.image.random_flip_left_right(x))
    return x


def strong(x):
    x = weak(x)
    x = x * tf.random.uniform((), 0.6, 1.4) + tf.random.normal(tf.shape(x), stddev=0.15)
    top = tf.random.uniform((), 0, x.shape[0] - 8, tf.int32)
    mask = tf.range(x.shape[0])
    keep = tf.logical_or(mask < top, mask >= top + 8)
    return x * tf.cast(keep, tf.float32)[:, None, None]


class LabelledSet:
    def __init__(self, x, y, batch):
        self.ds = (tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x))
                   .map(lambda a, b: (weak(a), b)).batch(batch, drop_remainder=True).repeat(3))

    def __iter__(self):
        return iter(self.ds)


class UnlabelledPool:
    """Draws (weak, strong) views of random unlabelled snippets."""

    def __init__(self, x, batch):
        self.ds = (tf.data.Dataset.from_tensor_slices(x).shuffle(len(x)).repeat()
                   .map(lambda a: (weak(a), strong(a)), num_parallel_calls=2)
                   .batch(batch).prefetch(1))

    def draw(self):
        return next(iter(self.ds))
