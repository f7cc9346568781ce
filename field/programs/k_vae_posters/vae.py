import tensorflow as tf
from tensorflow.keras import layers


class Encoder(layers.Layer):
    def __init__(self, latent):
        super().__init__()
        self.body = tf.keras.Sequential(
            [
                layers.Conv2D(12, 4, strides=4, activation="relu"),
                layers.Conv2D(24, 3, strides=2, activation="relu", padding="same"),
                layers.Flatten(),
            ]
        )
        self.mean, self.log_var = layers.Dense(latent), layers.Dense(latent)

    def call(self, x):
        h = self.body(x)
        return self.mean(h), self.log_var(h)


class Decoder(layers.Layer):
    def __init__(self, side):
        super().__init__()
        small = side // 8
        self.body = tf.keras.Sequential(
            [
                layers.Dense(small * small * 16, activation="relu"),
                layers.Reshape((small, small, 16)),
                layers.Conv2DTranspose(12, 3, strides=2, padding="same", activation="relu"),
                layers.Conv2DTranspose(3, 4, strides=4, padding="same", activation="sigmoid"),
            ]
        )

    def call(self, z):
        return self.body(z)


class VAE(tf.keras.Model):
    def __init__(self, side, latent=12):
        super().__init__()
        self.encoder, self.decoder = Encoder(latent), Decoder(side)

    def call(self, x):
        mean, log_var = self.encoder(x)
        z = mean + tf.exp(0.5 * log_var) * tf.random.normal(tf.shape(mean))
        return self.decoder(z), mean, log_var
