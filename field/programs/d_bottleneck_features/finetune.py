import logging

import keras
import numpy as np
from keras import layers

from features.backbone import mobile_backbone
from features.extract import extract
from settings import SETTINGS

logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")


def photos_and_labels(cfg):
    rng = np.random.default_rng(cfg["seed"])
    labels = rng.integers(0, cfg["classes"], cfg["photos"])
    tint = rng.integers(0, 160, (cfg["classes"], 1, 1, 3))
    noise = rng.integers(0, 90, (cfg["photos"], cfg["image_size"], cfg["image_size"], 3))
    return (tint[labels] + noise).astype("uint8"), labels


def classifier(width, cfg):
    head = keras.Sequential([
        layers.Input((width,)),
        layers.Dense(cfg["head"]["units"], activation="relu"),
        layers.Dropout(cfg["head"]["dropout"]),
        layers.Dense(cfg["classes"], activation="softmax"),
    ])
    head.compile(keras.optimizers.Adam(cfg["head"]["lr"]), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return head


def main(cfg):
    keras.utils.set_random_seed(cfg["seed"])
    photos, labels = photos_and_labels(cfg)
    base = mobile_backbone(cfg["image_size"], cfg["alpha"], cfg["blocks"])
    bottleneck = extract(base, photos)
    head = classifier(bottleneck.shape[1], cfg)
    head.fit(bottleneck, labels, batch_size=cfg["head"]["batch"], epochs=cfg["head"]["epochs"], verbose=2)


if __name__ == "__main__":
    main(SETTINGS)
