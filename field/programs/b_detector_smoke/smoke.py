"""Smoke test of the detector training: a dozen updates, then the loss must be finite."""
import argparse
import math
import sys

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def block(x, f, stride):
    skip = layers.Conv2D(f, 1, strides=stride)(x)
    x = layers.Conv2D(f, 3, strides=stride, padding="same")(x)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.Conv2D(f, 3, padding="same")(x)
    return layers.ReLU()(layers.Add()([x, skip]))


def detector():
    inp = layers.Input((192, 192, 3))
    x = layers.Conv2D(24, 5, strides=2, padding="same", activation="relu")(inp)
    for f, s in ((32, 1), (64, 2), (96, 2)):
        x = block(x, f, s)
    boxes = layers.Conv2D(4, 1)(x)
    score = layers.Conv2D(1, 1, activation="sigmoid")(x)
    return tf.keras.Model(inp, [boxes, score])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--updates", type=int, default=12)
    a = p.parse_args()
    rng = np.random.default_rng(0)
    model = detector()
    model.compile("adam", ["mse", "binary_crossentropy"])
    for i in range(a.updates):
        x = rng.normal(size=(8, 192, 192, 3)).astype("float32")
        boxes = rng.random((8, 24, 24, 4)).astype("float32")
        score = rng.integers(0, 2, (8, 24, 24, 1)).astype("float32")
        loss = model.train_on_batch(x, [boxes, score])
        print(i, loss)
    sys.exit(0 if math.isfinite(float(np.ravel(loss)[0])) else 1)


if __name__ == "__main__":
    main()
