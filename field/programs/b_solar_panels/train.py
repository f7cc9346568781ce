import os
import numpy as np
import keras
from keras import layers

keras.backend.set_floatx("float64")
keras.utils.set_random_seed(8)


class Config:
    n_panels = 1280
    size = 32
    batch = 32
    epochs = 2
    lr = 1e-3


def thermal_images(cfg):
    rng = np.random.default_rng(8)
    img = rng.normal(25.0, 2.0, size=(cfg.n_panels, cfg.size, cfg.size, 1))
    broken = rng.random(cfg.n_panels) < 0.3
    for i in np.flatnonzero(broken):
        r, c = rng.integers(4, cfg.size - 8, 2)
        img[i, r : r + 5, c : c + 5] += 9.0
    return (img - 25.0) / 5.0, broken.astype(keras.config.floatx())


def cnn(cfg):
    x = inp = keras.Input((cfg.size, cfg.size, 1))
    for f in (16, 32):
        x = layers.Conv2D(f, 3, padding="same", activation="relu")(x)
        x = layers.Conv2D(f, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Flatten()(x)
    x = layers.Dense(64, activation="relu")(x)
    return keras.Model(inp, layers.Dense(1, activation="sigmoid")(x))


cfg = Config()
x, y = thermal_images(cfg)
model = cnn(cfg)
model.compile(keras.optimizers.Adam(cfg.lr), "binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, batch_size=cfg.batch, epochs=cfg.epochs, verbose=2)
os.makedirs("out", exist_ok=True)
model.save_weights("out/panels.weights.h5")
