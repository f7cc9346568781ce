import numpy as np
import tensorflow as tf

import nets

bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)


class GAN:
    def __init__(self, noise_dim=64, lr=2e-4, preview=1024):
        self.noise_dim = noise_dim
        self.G = nets.generator(noise_dim)
        self.D = nets.discriminator()
        self.g_opt = tf.keras.optimizers.Adam(lr, beta_1=0.5)
        self.d_opt = tf.keras.optimizers.Adam(lr, beta_1=0.5)
        self.fixed_noise = tf.random.normal([preview, noise_dim])
        self.state = {"g": [], "d": [], "progress": []}

    def note(self, **kwargs):
        for k, v in kwargs.items():
            self.state.setdefault(k, []).append(v)

    def train_step(self, real):
        noise = tf.random.normal([tf.shape(real)[0], self.noise_dim])
        with tf.GradientTape() as gt, tf.GradientTape() as dt:
            fake = self.G(noise, training=True)
            real_logits = self.D(real, training=True)
            fake_logits = self.D(fake, training=True)
            g_loss = bce(tf.ones_like(fake_logits), fake_logits)
            d_loss = (bce(tf.ones_like(real_logits) * 0.9, real_logits)
                      + bce(tf.zeros_like(fake_logits), fake_logits))
        g_grads = gt.gradient(g_loss, self.G.trainable_variables)
        d_grads = dt.gradient(d_loss, self.D.trainable_variables)
        self.g_opt.apply_gradients(zip(g_grads, self.G.trainable_variables))
        self.d_opt.apply_gradients(zip(d_grads, self.D.trainable_variables))
        return g_loss, d_loss

    def fit(self, dataset, epochs):
        for epoch in range(epochs):
            for real in dataset:
                g, d = self.train_step(real)
                self.note(g=float(g), d=float(d), progress=self.G(self.fixed_noise, training=False))
            print(f"epoch {epoch}: G {np.mean(self.state['g'][-50:]):.3f} D {np.mean(self.state['d'][-50:]):.3f}")
        return self.state
