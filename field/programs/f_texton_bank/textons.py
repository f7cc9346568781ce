# Filter-bank responses of fabric photographs, pooled to one descriptor per photograph.
import math
import os
import tempfile

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(14)


def gabor(size, wavelength, angle, sigma):
    half = size // 2
    y, x = np.mgrid[-half:half + 1, -half:half + 1]
    u = x * math.cos(angle) + y * math.sin(angle)
    v = -x * math.sin(angle) + y * math.cos(angle)
    g = np.exp(-(u ** 2 + 0.5 * v ** 2) / (2 * sigma ** 2)) * np.cos(2 * math.pi * u / wavelength)
    return g - g.mean()


def filter_bank(size=13, scales=(4.0, 7.0, 11.0), angles=8):
    bank = [gabor(size, w, a * math.pi / angles, w / 2) for w in scales for a in range(angles)]
    return np.stack(bank, axis=-1)[:, :, None, :]


def photographs(n, side):
    for i in range(n):
        period, angle = rng.uniform(4, 14), rng.uniform(0, math.pi)
        y, x = np.mgrid[0:side, 0:side]
        weave = np.sin(2 * math.pi * (x * math.cos(angle) + y * math.sin(angle)) / period)
        yield np.clip(128 + 80 * weave + rng.normal(0, 20, (side, side)), 0, 255).astype(np.uint8)


class Descriptor:
    def __init__(self, bank):
        self.bank = tf.constant(bank)

    @tf.function
    def __call__(self, images):
        responses = tf.abs(tf.nn.conv2d(images, self.bank, 1, "VALID"))
        mean, variance = tf.nn.moments(responses, [1, 2])
        return tf.concat([mean, tf.sqrt(variance)], axis=1)


def batches(stream, size):
    group = []
    for picture in stream:
        group.append(picture[..., None] / 255.0)
        if len(group) == size:
            yield np.stack(group)
            group = []
    if group:
        yield np.stack(group)


if __name__ == "__main__":
    describe = Descriptor(filter_bank())
    table = []
    for k, images in enumerate(batches(photographs(288, 224), 8)):
        table.append(describe(tf.constant(images)).numpy())
        if k % 6 == 0:
            print("batch", k, "mean response", round(float(table[-1].mean()), 4))
    table = np.concatenate(table)
    out = os.path.join(tempfile.mkdtemp(prefix="textons_"), "descriptors.npy")
    np.save(out, table)
    print("wrote", out, table.shape)
