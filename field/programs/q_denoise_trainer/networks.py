import tensorflow as tf
L = tf.keras.layers


def denoiser(width=16, channels=1):
    inp = L.Input((None, None, channels))
    x = L.Conv2D(width, 3, padding="same", activation="relu")(inp)
    skip = x
    x = L.Conv2D(2 * width, 3, strides=2, padding="same", activation="relu")(x)
    x = L.Conv2D(2 * width, 3, padding="same", activation="relu")(x)
    x = L.Conv2DTranspose(width, 2, strides=2, padding="same", activation="relu")(x)
    x = L.Concatenate()([x, skip])
    noise = L.Conv2D(channels, 3, padding="same")(x)
    return tf.keras.Model(inp, inp - noise)
