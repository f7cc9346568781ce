import keras
from keras import layers

from . import settings


def risk_net():
    inputs = keras.Input((30,), name="signs")
    x = inputs
    for units in settings.HIDDEN:
        x = layers.Dense(units, activation="relu")(x)
        x = layers.LayerNormalization()(x)
    outputs = layers.Dense(1, activation="sigmoid", name="risk")(x)
    net = keras.Model(inputs, outputs)
    net.compile(optimizer=keras.optimizers.SGD(settings.LEARNING_RATE), loss="binary_crossentropy")
    return net
