"""LSGAN with a pool of past fakes for the discriminator."""
import abc
import random

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


class Pool:
    def __init__(self, capacity=200):
        self.capacity, self.items = capacity, []

    def mix(self, fakes):
        out = []
        for img in fakes:
            if len(self.items) < self.capacity:
                self.items.append(img)
                out.append(img)
            elif random.random() < 0.5:
                k = random.randrange(self.capacity)
                out.append(self.items[k])
                self.items[k] = img
            else:
                out.append(img)
        return np.stack(out)


class Trainer(abc.ABC):
    def __init__(self, steps, log_every):
        self.steps, self.log_every = steps, log_every

    @abc.abstractmethod
    def train_step(self, batch):
        """one update, returns a dict of scalars"""

    def run(self, dataset):
        for step, batch in enumerate(dataset.take(self.steps)):
            logs = self.train_step(batch)
            if step % self.log_every == 0:
                print(step, {k: round(float(v), 3) for k, v in logs.items()})


class AdversarialTrainer(Trainer):
    def __init__(self, generator, discriminator, latent, lr=2e-4, **kw):
        super().__init__(**kw)
        self.generator, self.discriminator, self.latent = generator, discriminator, latent
        self.g_opt = tf.keras.optimizers.Adam(lr, beta_1=0.5)
        self.d_opt = tf.keras.optimizers.Adam(lr, beta_1=0.5)
        self.pool = Pool()

    def minimise(self, loss_fn, model, opt):
        with tf.GradientTape() as tape:
            loss = loss_fn()
        grads = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    def train_step(self, real):
        n = real.shape[0]
        fakes = self.generator.predict(np.random.randn(n, self.latent).astype("float32"), verbose=0)
        fakes = tf.constant(self.pool.mix(fakes))
        d = self.update_discriminator(real, fakes)
        g = self.update_generator(tf.random.normal([n, self.latent]))
        return {"d": d, "g": g}

    def update_discriminator(self, real, fakes):
        raise NotImplementedError

    def update_generator(self, z):
        raise NotImplementedError


class LeastSquaresGAN(AdversarialTrainer):
    def update_discriminator(self, real, fakes):
        def loss():
            a = self.discriminator(real, training=True)
            b = self.discriminator(fakes, training=True)
            return 0.5 * (tf.reduce_mean((a - 1.0) ** 2) + tf.reduce_mean(b ** 2))
        return self.minimise(loss, self.discriminator, self.d_opt)

    def update_generator(self, z):
        def loss():
            return tf.reduce_mean((self.discriminator(self.generator(z, training=True), training=True) - 1.0) ** 2)
        return self.minimise(loss, self.generator, self.g_opt)


def make_generator(latent):
    return tf.keras.Sequential([
        layers.Input((latent,)),
        layers.Dense(4 * 4 * 16), layers.Reshape((4, 4, 16)), layers.BatchNormalization(), layers.LeakyReLU(),
        layers.Conv2DTranspose(16, 4, strides=2, padding="same"), layers.BatchNormalization(), layers.LeakyReLU(),
        layers.Conv2DTranspose(8, 4, strides=2, padding="same"), layers.BatchNormalization(), layers.LeakyReLU(),
        layers.Conv2D(1, 3, padding="same", activation="tanh"),
    ])


def make_discriminator():
    return tf.keras.Sequential([
        layers.Input((16, 16, 1)),
        layers.Conv2D(8, 4, strides=2, padding="same"), layers.LeakyReLU(), layers.Dropout(0.2),
        layers.Conv2D(16, 4, strides=2, padding="same"), layers.LeakyReLU(), layers.Dropout(0.2),
        layers.Flatten(), layers.Dense(1),
    ])


def shapes(n=1024):
    x = -np.ones((n, 16, 16, 1), "float32")
    for k in range(n):
        a, b = np.random.randint(1, 8, 2)
        x[k, a:a + 6, b:b + 6] = 1.0
    return tf.data.Dataset.from_tensor_slices(x).shuffle(n).repeat().batch(16)


if __name__ == "__main__":
    latent = 24
    gan = LeastSquaresGAN(make_generator(latent), make_discriminator(), latent, steps=60, log_every=10)
    gan.run(shapes())
