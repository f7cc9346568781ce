from tensorflow import keras
from tensorflow.keras import layers


def generator(noise_dim):
    return keras.Sequential([
        keras.Input((noise_dim,)),
        layers.Dense(128),
        layers.LeakyReLU(0.2),
        layers.Dense(128),
        layers.BatchNormalization(),
        layers.LeakyReLU(0.2),
        layers.Dense(28 * 28, activation="sigmoid"),
        layers.Reshape((28, 28, 1)),
    ], name="generator")


def discriminator():
    return keras.Sequential([
        keras.Input((28, 28, 1)),
        layers.Flatten(),
        layers.Dense(128),
        layers.LeakyReLU(0.2),
        layers.Dropout(0.3),
        layers.Dense(64),
        layers.LeakyReLU(0.2),
        layers.Dropout(0.3),
        layers.Dense(1),
    ], name="discriminator")
