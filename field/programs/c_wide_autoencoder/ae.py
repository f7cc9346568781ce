"""Wide denoising autoencoder for one-hot heavy tabular rows (swap noise)."""
import argparse

import numpy as np
import tensorflow as tf


def rows(n, width, seed):
    rng = np.random.RandomState(seed)
    return (rng.rand(n, width) < 0.08).astype(np.float32)


def swap_noise(x, p, rng):
    out = x.copy()
    m = rng.rand(*x.shape) < p
    out[m] = x[rng.permutation(len(x))][m]
    return out


def build(width, hidden):
    inp = tf.keras.Input((width,))
    h = inp
    for i, units in enumerate(hidden):
        h = tf.keras.layers.Dense(units, activation="relu", name=f"hidden_{i}")(h)
    return tf.keras.Model(inp, tf.keras.layers.Dense(width, activation="sigmoid")(h))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--width", type=int, default=1200)
    parser.add_argument("--hidden", type=int, nargs="+", default=[4000, 4000, 4000])
    opts = parser.parse_args()

    rng = np.random.RandomState(0)
    x = rows(opts.batch * opts.steps, opts.width, 0)
    noisy = swap_noise(x, 0.1, rng)
    model = build(opts.width, opts.hidden)
    print("parameters: %.1f M" % (model.count_params() / 1e6))
    optimizer = tf.keras.optimizers.AdamW(
        learning_rate=3e-4, weight_decay=1e-4, amsgrad=True, use_ema=True, ema_momentum=0.99)
    model.compile(optimizer, "binary_crossentropy")
    model.fit(noisy, x, batch_size=opts.batch, epochs=1, shuffle=False, verbose=2)
