import argparse

import numpy as np
import tensorflow as tf


def scans(n, size, classes, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    x = rng.normal(size=(n, size, size, 1)).astype("float32")
    x[np.arange(n), y, y, 0] += 6.0
    return x, y


class ScanNet(tf.keras.Model):
    def __init__(self, classes):
        super().__init__()
        self.stem = tf.keras.layers.Conv2D(24, 3, padding="same", activation="relu")
        self.body = tf.keras.layers.Conv2D(24, 3, padding="same", activation="relu")
        self.pool = tf.keras.layers.GlobalMaxPooling2D()
        self.head = tf.keras.layers.Dense(classes, activation="softmax")

    def call(self, x):
        return self.head(self.pool(self.body(self.stem(x))))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--classes", type=int, default=8)
    ap.add_argument("--size", type=int, default=48)
    ap.add_argument("--epochs", type=int, default=1)
    args = ap.parse_args()
    x, y = scans(1280, args.size, args.classes, 0)
    xt, yt = scans(2500, args.size, args.classes, 1)

    model = ScanNet(args.classes)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, batch_size=32, epochs=args.epochs, verbose=2)

    probs = model.predict_on_batch(xt)
    confusion = np.zeros((args.classes, args.classes), int)
    np.add.at(confusion, (yt, probs.argmax(1)), 1)
    print(confusion)
    print("accuracy", np.trace(confusion) / confusion.sum())


if __name__ == "__main__":
    main()
