import os

import keras
from keras import layers

FEATURES, CLASSES = 40, 6


def member(kind):
    inputs = keras.Input((FEATURES,))
    if kind == "wide":
        x = layers.Dense(256, activation="relu")(inputs)
    elif kind == "deep":
        x = inputs
        for _ in range(5):
            x = layers.Dense(48, activation="gelu")(x)
            x = layers.LayerNormalization()(x)
    else:
        x = layers.Reshape((FEATURES, 1))(inputs)
        x = layers.Conv1D(12, 5, activation="relu")(x)
        x = layers.GlobalMaxPooling1D()(x)
    return keras.Model(inputs, layers.Dense(CLASSES, activation="softmax")(x), name=kind)


def write_members(folder, kinds):
    paths = []
    for seed, kind in enumerate(kinds):
        keras.utils.set_random_seed(seed)
        path = os.path.join(folder, kind + ".keras")
        member(kind).save(path)
        paths.append(path)
    return paths
