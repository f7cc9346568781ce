import keras
from keras import layers


def block(x, filters):
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.Activation("relu")(x)
    return x


def unet(size, filters):
    inputs = x = keras.Input((size, size, 1))
    skips = []
    for level in range(3):
        x = block(x, filters * 2 ** level)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = block(x, filters * 8)
    for level in reversed(range(3)):
        x = layers.UpSampling2D()(x)
        x = layers.Concatenate()([x, skips[level]])
        x = block(x, filters * 2 ** level)
    return keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(x))
