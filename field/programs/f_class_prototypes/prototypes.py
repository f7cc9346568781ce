"""Prototype vector of each plant species from a folder of leaf scans, with a fixed projection network."""
import os
import tempfile

import numpy as np
import tensorflow as tf

SPECIES, PER_SPECIES, SIDE, SMALL = 24, 14, 288, 48


def scans_to_disk(folder):
    rng = np.random.default_rng(40)
    yy, xx = np.mgrid[0:SIDE, 0:SIDE] / SIDE - 0.5
    angle, radius = np.arctan2(yy, xx), np.hypot(xx, yy)
    for s in range(SPECIES):
        for i in range(PER_SPECIES):
            edge = 0.3 + 0.08 * np.cos((s + 2) * angle + rng.uniform(0, 6))
            leaf = (radius < edge)[..., None] * np.array([60, 160, 50]) + rng.normal(40, 10, (SIDE, SIDE, 3))
            jpg = tf.io.encode_jpeg(np.clip(leaf, 0, 255).astype(np.uint8), quality=95)
            tf.io.write_file(os.path.join(folder, f"{s:02d}-{i:03d}.jpg"), jpg)


def read(path):
    species = tf.strings.to_number(tf.strings.substr(path, -10, 2), tf.int32)
    image = tf.image.decode_jpeg(tf.io.read_file(path), channels=3)
    image = tf.image.resize(image, (SMALL, SMALL), method="area") / 255.0
    return image, species


def projector():
    tf.keras.utils.set_random_seed(9)
    return tf.keras.Sequential([
        tf.keras.layers.Input((SMALL, SMALL, 3)),
        tf.keras.layers.Conv2D(16, 5, strides=2, activation="relu"),
        tf.keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(64),
    ])


def prototypes(pictures, network):
    project = tf.function(network, input_signature=[tf.TensorSpec((None, SMALL, SMALL, 3), tf.float32)])
    centres = []
    for s in range(SPECIES):
        mine = pictures.filter(lambda image, species: tf.equal(species, s))
        total, n = np.zeros(64), 0
        for images, _ in mine.batch(PER_SPECIES):
            vectors = project(images).numpy()
            total += vectors.sum(axis=0)
            n += len(vectors)
        centres.append(total / n)
        print(f"species {s:2d}: {n} scans, norm {np.linalg.norm(centres[-1]):.3f}")
    return np.stack(centres)


def main():
    with tempfile.TemporaryDirectory(prefix="leaves_") as folder:
        scans_to_disk(folder)
        files = tf.data.Dataset.list_files(folder + "/*.jpg", shuffle=False)
        pictures = files.map(read, num_parallel_calls=2)
        centres = prototypes(pictures, projector())
    gaps = np.linalg.norm(centres[:, None] - centres[None], axis=-1) + 1e9 * np.eye(SPECIES)
    a, b = np.unravel_index(gaps.argmin(), gaps.shape)
    print(f"hardest pair: {a} and {b}, {gaps.min():.4f} apart")


if __name__ == "__main__":
    main()
