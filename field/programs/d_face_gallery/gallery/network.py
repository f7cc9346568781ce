import keras
from keras import layers


def conv_block(x, filters):
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    return layers.MaxPooling2D()(x)


def embedding_network(image_size, dim):
    inputs = keras.Input((image_size, image_size, 3))
    x = inputs
    for filters in (8, 16, 32):
        x = conv_block(x, filters)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(dim)(x)
    outputs = layers.UnitNormalization()(x)
    return keras.Model(inputs, outputs, name="embedder")
