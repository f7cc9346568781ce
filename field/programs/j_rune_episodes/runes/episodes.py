import numpy as np
import tensorflow as tf


def strokes(kinds, each, side, seed):
    """Scratched signs: every kind is a random polyline, drawn anew with a shaking hand."""
    rng = np.random.default_rng(seed)
    out = np.zeros((kinds, each, side, side), np.uint8)
    for kind in range(kinds):
        corners = rng.uniform(3, side - 4, (5, 2))
        for copy in range(each):
            bent = corners + rng.normal(0, 0.7, corners.shape)
            for a, b in zip(bent, bent[1:]):
                line = a + np.linspace(0, 1, 30)[:, None] * (b - a)
                r, c = np.clip(line.round().astype(int), 0, side - 1).T
                out[kind, copy, r, c] = 255
    return out


class Pool:
    def __init__(self, images, ways, shots, asked, seed):
        self.ways, self.shots, self.asked = ways, shots, asked
        self.rng = np.random.default_rng(seed)
        self.kinds = [self.stream(drawings) for drawings in images]

    def stream(self, drawings):
        rows = tf.data.Dataset.from_tensor_slices(drawings[..., None])
        rows = rows.map(lambda d: tf.image.convert_image_dtype(d, tf.float32))
        return rows.shuffle(len(drawings)).batch(self.shots + self.asked)

    def pick(self, kind):
        return next(iter(self.kinds[kind]))

    def episode(self):
        chosen = self.rng.choice(len(self.kinds), self.ways, replace=False)
        drawn = tf.stack([self.pick(kind) for kind in chosen])
        return drawn[:, :self.shots], drawn[:, self.shots:]
