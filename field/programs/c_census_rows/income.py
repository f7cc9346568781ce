# Income prediction from a CSV of census-like rows, tf.data with a full shuffle.
import csv
import os
import tempfile

import numpy as np
import tensorflow as tf

ROWS = 12000
COLS = 12


def write_csv(path):
    rng = np.random.default_rng(12)
    x = rng.normal(size=(ROWS, COLS)).round(3)
    y = (x[:, 0] + x[:, 3] - x[:, 5] > 0).astype(int)
    with open(path, "w", newline="") as f:
        w = csv.writer(f)
        w.writerow([f"f{i}" for i in range(COLS)] + ["income"])
        w.writerows(np.column_stack([x, y]).tolist())


def parse(lines):
    fields = tf.io.decode_csv(lines, [[0.0]] * (COLS + 1))
    return tf.stack(fields[:-1], axis=1), fields[-1]


def main():
    path = os.path.join(tempfile.mkdtemp(), "census.csv")
    write_csv(path)
    ds = (tf.data.TextLineDataset(path).skip(1)
          .batch(512).map(parse).unbatch()
          .cache()
          .shuffle(ROWS, reshuffle_each_iteration=True)
          .batch(256)
          .prefetch(tf.data.AUTOTUNE))
    model = tf.keras.Sequential([
        tf.keras.Input((COLS,)),
        tf.keras.layers.Dense(1024, activation="relu"),
        tf.keras.layers.Dense(1024, activation="relu"),
        tf.keras.layers.Dense(1, activation="sigmoid"),
    ])
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    ckpt = tf.keras.callbacks.ModelCheckpoint("out/best.weights.h5", save_weights_only=True)
    os.makedirs("out", exist_ok=True)
    model.fit(ds, epochs=3, callbacks=[ckpt], verbose=2)


main()
