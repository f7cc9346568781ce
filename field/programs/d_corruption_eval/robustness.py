import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import argparse
import json

import numpy as np
import tensorflow as tf

SIDE, CLASSES = 40, 8


def pictures(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, n)
    grid = np.linspace(0, 2 * np.pi, SIDE, dtype=np.float32)
    pattern = np.sin((y[:, None, None] + 1) * grid[None, :, None]) * np.cos(grid)[None, None, :]
    x = 0.5 + 0.3 * pattern + 0.1 * rng.normal(size=(n, SIDE, SIDE))
    return x[..., None].astype(np.float32), y


CORRUPTIONS = {
    "clean": lambda x, s: x,
    "noise": lambda x, s: x + tf.random.stateless_normal(tf.shape(x), [1, 2]) * 0.1 * s,
    "contrast": lambda x, s: (x - 0.5) / (1.0 + 0.4 * s) + 0.5,
    "blur": lambda x, s: tf.nn.avg_pool2d(x, 1 + 2 * s, 1, "SAME"),
    "invert": lambda x, s: 1.0 - x,
}


def network():
    layers = tf.keras.layers
    return tf.keras.Sequential([
        layers.Input((SIDE, SIDE, 1)),
        layers.Conv2D(24, 3, activation="relu"),
        layers.Conv2D(32, 3, strides=2, activation="relu"),
        layers.Conv2D(48, 3, strides=2, activation="relu"),
        layers.GlobalMaxPooling2D(),
        layers.Dense(CLASSES, activation="softmax"),
    ])


def main():
    ap = argparse.ArgumentParser(description="accuracy under corruptions, full test set each time")
    ap.add_argument("--train", type=int, default=1280)
    ap.add_argument("--test", type=int, default=1500)
    ap.add_argument("--severities", default="1,3")
    args = ap.parse_args()
    tf.keras.utils.set_random_seed(12)

    model = network()
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(*pictures(args.train, 0), batch_size=64, epochs=1, verbose=2)

    x, y = pictures(args.test, 1)
    table = {}
    for name, corrupt in CORRUPTIONS.items():
        for severity in map(int, args.severities.split(",")):
            if name in ("clean", "invert") and severity > 1:
                continue
            _, accuracy = model.evaluate(corrupt(tf.constant(x), severity), y, batch_size=250, verbose=0)
            table[f"{name}-{severity}"] = round(accuracy, 4)
    print(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
