import numpy as np
import tensorflow as tf


def textures(count, side, seed):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:side, 0:side] / side
    f = rng.uniform(1, 6, (count, 2, 1, 1))
    p = rng.uniform(0, 6.28, (count, 3, 1, 1))
    waves = np.sin(6.28 * (f[:, :1] * xx + f[:, 1:] * yy) + p)
    return np.moveaxis(waves, 1, -1).astype(np.float32)


class Augment:
    def __init__(self, crop, jitter, noise, flip, seed=0):
        self.crop, self.jitter, self.noise, self.flip = crop, jitter, noise, flip
        self.rng = np.random.default_rng(seed)

    def resize(self, patch, side):
        grid = np.linspace(0, patch.shape[0] - 1, side)
        lo = np.floor(grid).astype(int)
        hi = np.minimum(lo + 1, patch.shape[0] - 1)
        w = (grid - lo)[:, None, None]
        rows = patch[lo] * (1 - w) + patch[hi] * w
        w = (grid - lo)[None, :, None]
        return rows[:, lo] * (1 - w) + rows[:, hi] * w

    def __call__(self, image):
        r, side = self.rng, image.shape[0]
        y, x = r.integers(0, side - self.crop + 1, 2)
        out = self.resize(image[y:y + self.crop, x:x + self.crop], side)
        if r.random() < self.flip:
            out = out[:, ::-1]
        gain = r.uniform(1 - self.jitter, 1 + self.jitter, 3)
        out = out * gain + r.normal(0, self.noise, out.shape)
        return out.astype(np.float32)


def two_view_dataset(data, augment):
    images = textures(data["count"], data["side"], data["seed"])
    view = Augment(**augment)
    shape = images.shape[1:]

    def both(image):
        a = tf.numpy_function(view, [image], tf.float32)
        b = tf.numpy_function(view, [image], tf.float32)
        return tf.ensure_shape(a, shape), tf.ensure_shape(b, shape)

    ds = tf.data.Dataset.from_tensor_slices(images).shuffle(data["count"], seed=data["seed"]).repeat()
    ds = ds.map(both, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.batch(data["batch"]).prefetch(tf.data.AUTOTUNE)
