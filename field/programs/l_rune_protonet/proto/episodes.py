import numpy as np
import tensorflow as tf


class RuneSet:
    """Classes are random stroke templates, samples are shifted and noisy copies."""

    def __init__(self, n_classes, per_class, size, rng):
        images = np.zeros((n_classes, per_class, size, size), np.float32)
        for k in range(n_classes):
            tmpl = self._template(size, rng)
            for j in range(per_class):
                images[k, j] = np.roll(tmpl, rng.integers(-2, 3, 2), (0, 1))
        images += 0.35 * rng.normal(size=images.shape).astype(np.float32)
        self.images = images[..., None]

    @staticmethod
    def _template(size, rng):
        t = np.zeros((size, size), np.float32)
        for _ in range(4):
            (r0, c0), (r1, c1) = rng.integers(4, size - 4, (2, 2))
            s = np.linspace(0, 1, 2 * size)
            t[np.rint(r0 + s * (r1 - r0)).astype(int), np.rint(c0 + s * (c1 - c0)).astype(int)] = 1.0
        return t

    def episode(self, way, shot, query, rng):
        cls = rng.choice(len(self.images), way, replace=False)
        pick = np.stack([rng.permutation(self.images.shape[1])[:shot + query] for _ in cls])
        x = self.images[cls[:, None], pick]
        return x[:, :shot], x[:, shot:]


def stream(runes, ways, shot, query, seed):
    rng = np.random.default_rng(seed)

    def gen():
        i = 0
        while True:
            yield runes.episode(ways[i % len(ways)], shot, query, rng)
            i += 1

    s = runes.images.shape[2]
    spec = (tf.TensorSpec((None, shot, s, s, 1)), tf.TensorSpec((None, query, s, s, 1)))
    return tf.data.Dataset.from_generator(gen, output_signature=spec).prefetch(2)
