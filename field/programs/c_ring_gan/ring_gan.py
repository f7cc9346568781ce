"""GAN on a ring of Gaussians; keeps the losses of every step and a few preview clouds."""
import numpy as np
import tensorflow as tf

N_MODES, BATCH, STEPS, NOISE = 8, 512, 700, 16


def real_batch(rng):
    k = rng.integers(0, N_MODES, BATCH)
    angle = 2 * np.pi * k / N_MODES
    pts = np.stack([np.cos(angle), np.sin(angle)], 1) + 0.05 * rng.standard_normal((BATCH, 2))
    return pts.astype(np.float32)


def mlp(n_in, n_out, width=128):
    return tf.keras.Sequential([tf.keras.Input((n_in,)),
                                tf.keras.layers.Dense(width, activation="relu"),
                                tf.keras.layers.Dense(width, activation="relu"),
                                tf.keras.layers.Dense(n_out)])


class RingGAN:
    def __init__(self):
        self.g, self.d = mlp(NOISE, 2), mlp(2, 1)
        self.g_opt = tf.keras.optimizers.Adam(1e-3, beta_1=0.5)
        self.d_opt = tf.keras.optimizers.Adam(1e-3, beta_1=0.5)
        self.history = {"g": [], "d": []}
        self.clouds = []

    @tf.function
    def d_step(self, real):
        fake = self.g(tf.random.normal([BATCH, NOISE]))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.softplus(-self.d(real)) + tf.nn.softplus(self.d(fake)))
        self.d_opt.apply_gradients(zip(tape.gradient(loss, self.d.trainable_variables), self.d.trainable_variables))
        return loss

    @tf.function
    def g_step(self):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.softplus(-self.d(self.g(tf.random.normal([BATCH, NOISE])))))
        self.g_opt.apply_gradients(zip(tape.gradient(loss, self.g.trainable_variables), self.g.trainable_variables))
        return loss

    def record(self, **kwargs):
        for name, value in kwargs.items():
            self.history[name].append(value)

    def train(self, steps):
        rng = np.random.default_rng(0)
        for i in range(1, steps + 1):
            d = self.d_step(real_batch(rng))
            g = self.g_step()
            self.record(g=g, d=d)
            if i % 100 == 0:
                self.clouds.append(self.g(tf.random.normal([1024, NOISE])))
                print(f"{i}: d {float(d):.3f} g {float(g):.3f} radius {float(tf.reduce_mean(tf.norm(self.clouds[-1], axis=1))):.2f}")


gan = RingGAN()
gan.train(STEPS)
print("mean of last 100 g losses", np.mean([x.numpy() for x in gan.history["g"][-100:]]))
