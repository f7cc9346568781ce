from tensorflow import keras


def build(cfg):
    inp = keras.Input((cfg["history"], 2))
    h = inp
    for width in cfg["widths"]:
        h = keras.layers.Conv1D(width, 3, padding="causal", activation="relu")(h)
        h = keras.layers.LayerNormalization()(h)
    h = keras.layers.Flatten()(h)
    h = keras.layers.Dense(cfg["hidden"], activation="relu")(h)
    out = keras.layers.Dense(cfg["horizon"])(h)
    model = keras.Model(inp, out)
    model.compile(keras.optimizers.Adam(cfg["lr"]), "mae")
    return model
