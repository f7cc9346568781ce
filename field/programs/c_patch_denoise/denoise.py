"""Residual denoiser for grayscale micrograph tiles."""
import argparse

import numpy as np
from tensorflow import keras

keras.config.set_floatx("float64")


def tiles(n, size, seed):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:size, 0:size] / size
    f = rng.uniform(2, 9, (n, 1, 1))
    clean = 0.5 + 0.4 * np.sin(f * xx + f * yy)
    return clean[..., None]


def corrupt(x, sigma, seed):
    return x + np.random.default_rng(seed).normal(0, sigma, x.shape)


def dncnn(depth, width):
    inp = keras.Input((None, None, 1))
    h = keras.layers.Conv2D(width, 3, padding="same", activation="relu")(inp)
    for _ in range(depth):
        h = keras.layers.Conv2D(width, 3, padding="same", activation="relu")(h)
    noise = keras.layers.Conv2D(1, 3, padding="same")(h)
    return keras.Model(inp, keras.layers.Subtract()([inp, noise]))


def psnr(a, b):
    return 10 * np.log10(1.0 / np.mean((a - b) ** 2))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--sigma", type=float, default=0.1)
    args = p.parse_args()

    clean = tiles(384, 32, seed=1)
    noisy = corrupt(clean, args.sigma, seed=2)
    test_clean = tiles(260, 64, seed=3)
    test_noisy = corrupt(test_clean, args.sigma, seed=4)

    model = dncnn(depth=2, width=16)
    model.compile(keras.optimizers.Adam(1e-3), "mse")
    model.fit(noisy, clean, batch_size=16, epochs=args.epochs, verbose=2)
    restored = model.predict(test_noisy, batch_size=len(test_noisy), verbose=0)
    print("PSNR noisy %.2f restored %.2f" % (psnr(test_clean, test_noisy), psnr(test_clean, restored)))


if __name__ == "__main__":
    main()
