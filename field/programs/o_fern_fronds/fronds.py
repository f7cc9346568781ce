import math

import keras
import numpy as np


def frond(rng, species, size):
    img = 0.15 * rng.standard_normal((size, size, 3)) + 0.35
    n = 8 + 2 * species
    curl = 0.2 + 0.1 * (species % 4)
    t = np.linspace(0, 1, 200)
    x0 = size * (0.5 + 0.1 * np.sin(curl * 6 * t + rng.uniform(0, 6)))
    y0 = size * (0.95 - 0.9 * t)
    for k in range(n):
        i = int(20 + 170 * k / n)
        length = size * 0.35 * (1 - k / n)
        for side in (-1, 1):
            s = np.linspace(0, 1, 40)
            xs = (x0[i] + side * length * s).astype(int) % size
            ys = (y0[i] - length * curl * s ** (1 + species % 3)).astype(int) % size
            img[ys, xs] = (0.1, 0.5 + 0.05 * species, 0.15)
    return np.clip(img, 0, 1).astype("float32")


def collection(n, classes, size, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    return np.stack([frond(rng, k, size) for k in y]), y.astype("int32")


class FrondSequence(keras.utils.PyDataset):
    """Augments on the fly: flips, quarter turns, shift, brightness, cutout."""

    def __init__(self, x, y, batch_size, seed=0, **kw):
        super().__init__(**kw)
        self.x, self.y, self.batch_size = x, y, batch_size
        self.rng = np.random.default_rng(seed)
        self.order = self.rng.permutation(len(x))

    def __len__(self):
        return math.ceil(len(self.x) / self.batch_size)

    def augment(self, img):
        img = np.rot90(img, self.rng.integers(4))
        if self.rng.random() < 0.5:
            img = img[:, ::-1]
        img = np.roll(img, self.rng.integers(-6, 7, 2), (0, 1))
        img = img * self.rng.uniform(0.8, 1.2)
        r, c = self.rng.integers(0, img.shape[0] - 12, 2)
        img = img.copy()
        img[r:r + 12, c:c + 12] = 0.5
        return img

    def __getitem__(self, idx):
        pick = self.order[idx * self.batch_size:(idx + 1) * self.batch_size]
        return np.stack([self.augment(self.x[i]) for i in pick]), self.y[pick]

    def on_epoch_end(self):
        self.order = self.rng.permutation(len(self.x))
