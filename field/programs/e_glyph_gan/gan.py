"""GAN for 12x12 glyphs, the two-compile Keras recipe."""
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras.layers import Dense, Dropout, Flatten, LeakyReLU, Reshape
from tensorflow.keras.models import Sequential
from tensorflow.keras.optimizers import Adam

LATENT = 32
SIDE = 12


class GlyphGAN():
    def __init__(self):
        self.generator = self.build_generator()
        self.discriminator = self.build_discriminator()
        self.set_trainable(self.discriminator, True)
        z = keras.Input((LATENT,))
        self.combined = keras.Model(z, self.discriminator(self.generator(z)))
        self.set_trainable(self.discriminator, False)
        self.combined.compile(loss='binary_crossentropy', optimizer=Adam(2e-4, 0.5))
        self.set_trainable(self.discriminator, True)

    def build_generator(self):
        return Sequential([
            keras.Input((LATENT,)),
            Dense(128), LeakyReLU(0.2),
            Dense(256), LeakyReLU(0.2),
            Dense(SIDE * SIDE, activation='tanh'),
            Reshape((SIDE, SIDE)),
        ], name='generator')

    def build_discriminator(self):
        return Sequential([
            keras.Input((SIDE, SIDE)),
            Flatten(),
            Dense(256), LeakyReLU(0.2), Dropout(0.3),
            Dense(128), LeakyReLU(0.2), Dropout(0.3),
            Dense(1, activation='sigmoid'),
        ], name='discriminator')

    def set_trainable(self, model, flag):
        model.trainable = flag
        for layer in model.layers:
            layer.trainable = flag
        model.compile(loss='binary_crossentropy', optimizer=Adam(2e-4, 0.5), metrics=['accuracy'])

    def glyphs(self, n=4096):
        r = np.random.RandomState(2)
        out = -np.ones((n, SIDE, SIDE), np.float32)
        for k in range(n):
            a, b = r.randint(1, SIDE - 1, 2)
            if r.rand() < 0.5:
                out[k, a, 1:-1] = 1
            out[k, 1:-1, b] = 1
        return out + 0.05 * r.randn(n, SIDE, SIDE).astype(np.float32)

    def train(self, iterations, batch_size=64, sample_interval=7):
        data = self.glyphs()
        real, fake = np.ones((batch_size, 1)), np.zeros((batch_size, 1))
        for it in range(iterations):
            images = data[np.random.randint(0, len(data), batch_size)]
            noise = np.random.normal(0, 1, (batch_size, LATENT))
            made = self.generator.predict(noise, verbose=0)

            self.set_trainable(self.discriminator, True)
            d_real = self.discriminator.train_on_batch(images, real)
            d_fake = self.discriminator.train_on_batch(made, fake)

            self.set_trainable(self.discriminator, False)
            g_loss = self.combined.train_on_batch(np.random.normal(0, 1, (batch_size, LATENT)), real)

            if it % sample_interval == 0:
                print("%d [D loss: %.4f, acc.: %.1f%%] [G loss: %.4f]" % (
                    it, 0.5 * (d_real[0] + d_fake[0]), 50 * (d_real[1] + d_fake[1]), g_loss))


if __name__ == '__main__':
    np.random.seed(8)
    tf.random.set_seed(8)
    GlyphGAN().train(iterations=28)
