import logging
import sys

import numpy as np
import tensorflow as tf

from networks import denoiser
from trainer import Trainer

CONFIG = dict(size=64, train=1024, holdout=1500, batch=16, epochs=3, steps_per_epoch=64, lr=2e-3, sigma=0.12,
              width=16, out="ckpt")


def blobs(n, size, rng):
    """smooth random fields in 0..1"""
    f = rng.standard_normal((n, size // 8, size // 8, 1)).astype(np.float32)
    f = tf.image.resize(f, (size, size), method="bicubic").numpy()
    f -= f.min(axis=(1, 2), keepdims=True)
    return f / f.max(axis=(1, 2), keepdims=True)


def noisy(x, sigma, rng):
    return x + (sigma * rng.standard_normal(x.shape)).astype(np.float32)


def main():
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
    cfg = dict(CONFIG)
    for a in sys.argv[1:]:
        k, v = a.split("=")
        cfg[k] = type(cfg[k])(v)
    tf.keras.utils.set_random_seed(12)
    rng = np.random.default_rng(12)
    clean = blobs(cfg["train"], cfg["size"], rng)
    hold = blobs(cfg["holdout"], cfg["size"], rng)
    t = Trainer(denoiser(cfg["width"]), (noisy(clean, cfg["sigma"], rng), clean),
                (noisy(hold, cfg["sigma"], rng), hold), cfg)
    n = t.fit()
    logging.info("total steps %d, best psnr %.2f", n, -t.best)


if __name__ == "__main__":
    main()
