"""Runs a stored galaxy classifier over the files of a sky survey and writes a table of types."""
import csv
import gc
import os
import sys
import tempfile

import numpy as np
import tensorflow as tf

FILES, PER_FILE, SIDE = 7, 1100, 40
TYPES = ("elliptical", "spiral", "irregular", "edge-on")


def make_survey(folder):
    rng = np.random.default_rng(55)
    yy, xx = np.mgrid[-1:1:SIDE * 1j, -1:1:SIDE * 1j].astype(np.float32)
    for f in range(FILES):
        axis = rng.uniform(0.1, 0.6, (PER_FILE, 2, 1, 1)).astype(np.float32)
        light = np.exp(-(xx / axis[:, 0]) ** 2 - (yy / axis[:, 1]) ** 2)
        light += rng.standard_normal(light.shape, dtype=np.float32) * 0.05
        np.save(os.path.join(folder, "field_%02d.npy" % f), light[..., None])


def make_classifier(path):
    tf.keras.utils.set_random_seed(5)
    stack = [tf.keras.Input((SIDE, SIDE, 1))]
    for filters in (24, 48):
        stack += [tf.keras.layers.Conv2D(filters, 3, padding="same", activation="relu"),
                  tf.keras.layers.Conv2D(filters, 3, padding="same", activation="relu"),
                  tf.keras.layers.MaxPooling2D()]
    stack += [tf.keras.layers.Flatten(), tf.keras.layers.Dense(len(TYPES), activation="softmax")]
    tf.keras.Sequential(stack).save(path)


def classify(folder, path):
    model = tf.keras.models.load_model(path)
    everything = []
    for name in sorted(n for n in os.listdir(folder) if n.endswith(".npy")):
        images = np.load(os.path.join(folder, name))
        chances = model.predict(images, batch_size=100, verbose=0)
        everything.append(chances)
        counts = np.bincount(chances.argmax(axis=1), minlength=len(TYPES))
        print(name, dict(zip(TYPES, counts.tolist())), "sure %.3f" % chances.max(axis=1).mean())
        del images
        gc.collect()
    return np.concatenate(everything)


def main():
    with tempfile.TemporaryDirectory() as folder:
        make_survey(folder)
        path = os.path.join(folder, "galaxies.keras")
        make_classifier(path)
        chances = classify(folder, path)
        with open(os.path.join(folder, "types.csv"), "w", newline="") as out:
            table = csv.writer(out)
            table.writerow(("object",) + TYPES)
            for i, row in enumerate(chances):
                table.writerow([i] + ["%.4f" % v for v in row])
        print("%d objects, %d bytes" % (len(chances), os.path.getsize(os.path.join(folder, "types.csv"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
