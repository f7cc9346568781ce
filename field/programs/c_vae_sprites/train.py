"""Variational autoencoder on procedurally drawn 32x32 sprites."""

import argparse
import collections
import os

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def draw_sprites(n, size=32, seed=0):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:size, 0:size].astype("float32")
    cx = rng.uniform(8, 24, (n, 1, 1)).astype("float32")
    cy = rng.uniform(8, 24, (n, 1, 1)).astype("float32")
    r = rng.uniform(3, 9, (n, 1, 1)).astype("float32")
    d = np.sqrt((xx - cx) ** 2 + (yy - cy) ** 2)
    return (d < r).astype("float32")[..., None]


class RunLog:
    """Named series of whatever the training step reports."""

    def __init__(self, every=50):
        self.every = every
        self.series = collections.defaultdict(list)

    def update(self, step, **values):
        for name, value in values.items():
            self.series[name].append(value)
        if step % self.every == 0:
            print(
                f"step {step:4d}  "
                + "  ".join(
                    f"{k}={float(v[-1]):.3f}"
                    for k, v in self.series.items()
                    if v[-1].shape.rank == 0
                )
            )

    def mean(self, name, last=100):
        return float(tf.reduce_mean(tf.stack(self.series[name][-last:])))

    def last(self, name):
        return self.series[name][-1]


class VAE(tf.keras.Model):
    def __init__(self, latent=16):
        super().__init__()
        self.latent = latent
        self.encoder = tf.keras.Sequential(
            [
                layers.Flatten(),
                layers.Dense(128, activation="relu"),
                layers.Dense(2 * latent),
            ]
        )
        self.decoder = tf.keras.Sequential(
            [
                layers.Dense(128, activation="relu"),
                layers.Dense(32 * 32),
                layers.Reshape((32, 32, 1)),
            ]
        )

    def call(self, x):
        mu, logvar = tf.split(self.encoder(x), 2, axis=-1)
        z = mu + tf.exp(0.5 * logvar) * tf.random.normal(tf.shape(mu))
        return self.decoder(z), mu, logvar


def make_step(model, optimizer, beta):
    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            logits, mu, logvar = model(x)
            bce = tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits)
            recon_loss = tf.reduce_mean(tf.reduce_sum(bce, axis=[1, 2, 3]))
            kl = -0.5 * tf.reduce_mean(tf.reduce_sum(1 + logvar - mu**2 - tf.exp(logvar), axis=1))
            loss = recon_loss + beta * kl
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss, kl, tf.sigmoid(logits), mu

    return step


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--beta", type=float, default=1.0)
    p.add_argument("--out", default="out")
    args = p.parse_args()
    tf.keras.utils.set_random_seed(3)

    x = draw_sprites(16000)
    ds = (
        tf.data.Dataset.from_tensor_slices(x)
        .shuffle(4096)
        .batch(args.batch, drop_remainder=True)
        .prefetch(2)
    )
    model = VAE()
    model(x[:1])
    step = make_step(model, tf.keras.optimizers.Adam(1e-3), args.beta)
    log = RunLog()
    n = 0
    for epoch in range(args.epochs):
        for batch in ds:
            loss, kl, recon, code = step(batch)
            n += 1
            log.update(n, loss=loss, kl=kl, recon=recon, code=code)
        print(f"epoch {epoch}: loss {log.mean('loss'):.2f} kl {log.mean('kl'):.2f}")

    os.makedirs(args.out, exist_ok=True)
    np.save(os.path.join(args.out, "recon.npy"), log.last("recon").numpy()[:16])
    np.save(os.path.join(args.out, "codes.npy"), log.last("code").numpy())


if __name__ == "__main__":
    main()
