"""Denoising autoencoder for spectra: a handful of large batches, printed one by one."""
import argparse

import numpy as np
import tensorflow as tf


def spectra(n, bins, seed=0):
    rng = np.random.default_rng(seed)
    axis = np.linspace(0, 1, bins, dtype="float32")
    pos = rng.random((n, 6, 1), dtype="float32")
    lines = np.exp(-((axis - pos) / 0.01) ** 2).sum(1)
    return lines.astype("float32")


class Autoencoder(tf.Module):
    def __init__(self, bins, widths):
        super().__init__()
        sizes = [bins] + list(widths) + [bins]
        init = tf.keras.initializers.HeNormal(seed=1)
        self.w = [tf.Variable(init([a, b])) for a, b in zip(sizes[:-1], sizes[1:])]
        self.b = [tf.Variable(tf.zeros([n])) for n in sizes[1:]]

    def __call__(self, x):
        for k, (w, b) in enumerate(zip(self.w, self.b)):
            x = tf.matmul(x, w) + b
            if k + 1 < len(self.w):
                x = tf.nn.relu(x)
        return x


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=10)
    ap.add_argument("--batch", type=int, default=1024)
    ap.add_argument("--bins", type=int, default=1200)
    args = ap.parse_args()
    data = spectra(1500, args.bins)
    model = Autoencoder(args.bins, (1600, 1600, 1600))
    opt = tf.keras.optimizers.SGD(0.01)
    history = []
    for step in range(args.steps):
        clean = tf.constant(data[np.random.randint(0, len(data), args.batch)])
        noisy = clean + tf.random.normal(clean.shape, stddev=0.1)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(noisy) - clean))
        grads = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(grads, model.trainable_variables))
        history.append(loss.numpy())
        print("step", step, "loss", history[-1])
    print("best", min(history))


if __name__ == "__main__":
    main()
