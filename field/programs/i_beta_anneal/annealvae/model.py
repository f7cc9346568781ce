import tensorflow as tf
from tensorflow.keras import Sequential, layers


class VAE(tf.keras.Model):
    def __init__(self, cfg):
        super().__init__()
        self.latent = cfg.latent
        pixels = cfg.side ** 2
        self.encoder = Sequential(
            [layers.Input((pixels,))]
            + [layers.Dense(w, activation="gelu") for w in cfg.widths]
            + [layers.Dense(2 * cfg.latent)], name="encoder")
        self.decoder = Sequential(
            [layers.Input((cfg.latent,))]
            + [layers.Dense(w, activation="gelu") for w in reversed(cfg.widths)]
            + [layers.Dense(pixels)], name="decoder")

    def call(self, x, training=False):
        mean, logvar = tf.split(self.encoder(x, training=training), 2, axis=-1)
        z = mean + tf.exp(0.5 * logvar) * tf.random.normal(tf.shape(mean))
        return self.decoder(z, training=training), mean, logvar

    def elbo_terms(self, x, free_bits):
        logits, mean, logvar = self(x, training=True)
        rec = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits), -1)
        kl = 0.5 * (tf.square(mean) + tf.exp(logvar) - logvar - 1.0)
        kl = tf.reduce_sum(tf.maximum(kl, free_bits), -1)
        return tf.reduce_mean(rec), tf.reduce_mean(kl)
