import collections
import time

import numpy as np
import tensorflow as tf

Params = collections.namedtuple("Params", "batch noise critic_rounds penalty generator_steps side")
P = Params(batch=64, noise=32, critic_rounds=2, penalty=10.0, generator_steps=45, side=24)


def stripes(n, side):
    rng = np.random.RandomState(0)
    y, x = np.mgrid[:side, :side]
    a, f = rng.uniform(0, np.pi, (n, 1, 1)), rng.uniform(0.4, 1.2, (n, 1, 1))
    return np.sin(f * (np.cos(a) * x + np.sin(a) * y)).astype("float32")[..., None]


def make_generator():
    m = tf.keras.Sequential(name="generator")
    m.add(tf.keras.Input((P.noise,)))
    m.add(tf.keras.layers.Dense(6 * 6 * 48, activation="relu"))
    m.add(tf.keras.layers.Reshape((6, 6, 48)))
    for f in (48, 32):
        m.add(tf.keras.layers.UpSampling2D())
        m.add(tf.keras.layers.Conv2D(f, 3, padding="same", activation="relu"))
    m.add(tf.keras.layers.Conv2D(1, 3, padding="same", activation="tanh"))
    return m


def make_critic():
    m = tf.keras.Sequential(name="critic")
    m.add(tf.keras.Input((P.side, P.side, 1)))
    for f in (32, 48, 64):
        m.add(tf.keras.layers.Conv2D(f, 3, strides=2, padding="same"))
        m.add(tf.keras.layers.LeakyReLU(0.2))
    m.add(tf.keras.layers.Flatten())
    m.add(tf.keras.layers.Dense(1))
    return m


class WGAN:
    def __init__(self):
        self.g, self.c = make_generator(), make_critic()
        self.g_opt = tf.keras.optimizers.Adam(1e-4, beta_1=0.0, beta_2=0.9)
        self.c_opt = tf.keras.optimizers.Adam(3e-4, beta_1=0.0, beta_2=0.9)

    def gradient_penalty(self, real, fake):
        mix = tf.random.uniform([P.batch, 1, 1, 1])
        between = mix * real + (1 - mix) * fake
        with tf.GradientTape() as tape:
            tape.watch(between)
            score = self.c(between, training=True)
        grad = tape.gradient(score, between)
        return tf.reduce_mean(tf.square(tf.norm(tf.reshape(grad, [P.batch, -1]), axis=1) - 1))

    @tf.function
    def train(self, real_batches):
        for i in range(P.critic_rounds):
            real = real_batches[i]
            fake = self.g(tf.random.normal([P.batch, P.noise]), training=True)
            with tf.GradientTape() as tape:
                gap = tf.reduce_mean(self.c(fake, training=True)) - tf.reduce_mean(self.c(real, training=True))
                c_loss = gap + P.penalty * self.gradient_penalty(real, fake)
            v = self.c.trainable_variables
            self.c_opt.apply_gradients(zip(tape.gradient(c_loss, v), v))
        with tf.GradientTape() as tape:
            g_loss = -tf.reduce_mean(self.c(self.g(tf.random.normal([P.batch, P.noise]), training=True), training=True))
        v = self.g.trainable_variables
        self.g_opt.apply_gradients(zip(tape.gradient(g_loss, v), v))
        return c_loss, g_loss, -gap


def main():
    tf.random.set_seed(0)
    data = tf.data.Dataset.from_tensor_slices(stripes(4000, P.side)).shuffle(4000).repeat()
    data = iter(data.batch(P.batch).batch(P.critic_rounds))
    gan = WGAN()
    distance = []
    t = time.perf_counter()
    for step in range(P.generator_steps):
        c_loss, g_loss, w = (float(v) for v in gan.train(next(data)))
        distance.append(w)
        print(f"\r{step + 1}/{P.generator_steps} critic {c_loss:.3f} generator {g_loss:.3f}", end="", flush=True)
        if (step + 1) % 15 == 0:
            pictures = gan.g(tf.random.normal([16, P.noise]), training=False).numpy()
            print(f"  distance {np.mean(distance[-15:]):.3f}  contrast {pictures.std():.3f}  {time.perf_counter() - t:.1f}s")


if __name__ == "__main__":
    main()
