import argparse
import os
import tempfile
import time

import numpy as np
import tensorflow as tf

L = tf.keras.layers


def crack_images(n, size, rng):
    """gray patches of concrete with a random-walk crack"""
    img = 0.15 * rng.normal(size=(n, size, size)) + 0.5
    pos = rng.integers(8, size - 8, n)
    for row in range(size):
        pos = np.clip(pos + rng.integers(-1, 2, n), 2, size - 3)
        for w in (-1, 0, 1):
            img[np.arange(n), row, pos + w] -= 0.6 - 0.2 * abs(w)
    return (np.clip(img, -0.2, 1)[..., None] * 1.6 - 0.7).astype("float32")


def generator(latent):
    return tf.keras.Sequential([
        tf.keras.Input((latent,)), L.Dense(8 * 8 * 64, activation="relu"), L.Reshape((8, 8, 64)),
        L.UpSampling2D(), L.Conv2D(48, 3, padding="same", activation="relu"),
        L.UpSampling2D(), L.Conv2D(32, 3, padding="same", activation="relu"),
        L.Conv2D(1, 3, padding="same", activation="tanh")])


def critic(size):
    return tf.keras.Sequential([
        tf.keras.Input((size, size, 1)),
        L.Conv2D(24, 5, 2, padding="same"), L.LeakyReLU(0.2),
        L.Conv2D(48, 5, 2, padding="same"), L.LeakyReLU(0.2),
        L.Conv2D(64, 3, 2, padding="same"), L.LeakyReLU(0.2),
        L.Flatten(), L.Dense(1)])


class WGANGP:
    def __init__(self, args):
        self.args = args
        self.g, self.c = generator(args.latent), critic(args.size)
        self.g_opt = tf.keras.optimizers.Adam(1e-4, beta_1=0.0, beta_2=0.9)
        self.c_opt = tf.keras.optimizers.Adam(2e-4, beta_1=0.0, beta_2=0.9)
        self.g_opt.build(self.g.trainable_variables)
        self.c_opt.build(self.c.trainable_variables)

    @tf.function
    def critic_step(self, real):
        b = tf.shape(real)[0]
        with tf.GradientTape() as tape:
            fake = self.g(tf.random.normal((b, self.args.latent)), training=True)
            eps = tf.random.uniform((b, 1, 1, 1))
            mix = eps * real + (1 - eps) * fake
            with tf.GradientTape() as inner:
                inner.watch(mix)
                score = self.c(mix, training=True)
            slope = tf.sqrt(tf.reduce_sum(inner.gradient(score, mix) ** 2, [1, 2, 3]) + 1e-8)
            w = tf.reduce_mean(self.c(real, training=True)) - tf.reduce_mean(self.c(fake, training=True))
            loss = -w + 10.0 * tf.reduce_mean((slope - 1) ** 2)
        self.c_opt.apply_gradients(zip(tape.gradient(loss, self.c.trainable_variables), self.c.trainable_variables))
        return w

    @tf.function
    def generator_step(self):
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(self.c(self.g(tf.random.normal((self.args.batch, self.args.latent)), training=True)))
        self.g_opt.apply_gradients(zip(tape.gradient(loss, self.g.trainable_variables), self.g.trainable_variables))
        return loss


def sliced_wasserstein(a, b, rng, k=64):
    d = rng.normal(size=(a[0].size, k)).astype("float32")
    d /= np.linalg.norm(d, axis=0)
    pa, pb = np.sort(a.reshape(len(a), -1) @ d, 0), np.sort(b.reshape(len(b), -1) @ d, 0)
    return np.abs(pa - pb).mean()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=10)
    p.add_argument("--gen-steps", type=int, default=5)
    p.add_argument("--n-critic", type=int, default=4)
    p.add_argument("--batch", type=int, default=48)
    p.add_argument("--size", type=int, default=32)
    p.add_argument("--latent", type=int, default=48)
    args = p.parse_args()
    tf.keras.utils.set_random_seed(9)
    rng = np.random.default_rng(9)
    images = crack_images(2000, args.size, rng)
    gan = WGANGP(args)
    z = tf.random.normal((128, args.latent))
    ckpt = tf.train.Checkpoint(g=gan.g, c=gan.c)
    w_hist, g_hist = [], []
    t0 = time.time()
    with tempfile.TemporaryDirectory() as tmp:
        manager = tf.train.CheckpointManager(ckpt, os.path.join(tmp, "ck"), max_to_keep=2)
        for r in range(args.rounds):
            for _ in range(args.gen_steps):
                for _ in range(args.n_critic):
                    w = gan.critic_step(images[rng.integers(0, len(images), args.batch)])
                w_hist.append(float(w))
                g_hist.append(float(gan.generator_step()))
            swd = sliced_wasserstein(gan.g(z, training=False).numpy(), images[:128], rng)
            if (r + 1) % 3 == 0:
                manager.save()
            print("round %d  W %.3f  g %.3f  swd %.4f  %.1fs" % (
                r, np.mean(w_hist[-5:]), np.mean(g_hist[-5:]), swd, time.time() - t0))


if __name__ == "__main__":
    main()
