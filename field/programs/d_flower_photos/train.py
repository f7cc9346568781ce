"""Flower classifier on a folder of photos (class name = folder name)."""

import argparse
import os
import pathlib
import tempfile

import numpy as np
import tensorflow as tf

CLASSES = ["daisy", "dandelion", "roses", "sunflowers", "tulips"]
IMG_SIZE = 64


def write_demo_photos(root, per_class):
    """No network on the cluster nodes, so we fake a photo folder."""
    rng = np.random.default_rng(3)
    for label, name in enumerate(CLASSES):
        folder = root / name
        folder.mkdir(parents=True)
        variants = []
        for _ in range(6):
            h, w = rng.integers(60, 110, 2)
            base = rng.integers(0, 256, (8, 8, 3)).astype(np.float32) * 0.4 + 30 * label
            img = tf.image.resize(base, (int(h), int(w)))
            variants.append(
                tf.io.encode_jpeg(tf.cast(tf.clip_by_value(img, 0, 255), tf.uint8)).numpy()
            )
        for i in range(per_class):
            (folder / f"{name}_{i:04d}.jpg").write_bytes(variants[i % len(variants)])


def load_photo(path):
    raw = tf.io.read_file(path)
    img = tf.io.decode_jpeg(raw, channels=3)
    img = tf.image.convert_image_dtype(img, tf.float32)
    img = tf.image.resize_with_pad(img, IMG_SIZE, IMG_SIZE)
    img = tf.image.adjust_contrast(img, 1.2)
    return tf.image.per_image_standardization(img)


def load_folder(root):
    images, labels = [], []
    for label, name in enumerate(CLASSES):
        for path in sorted((root / name).glob("*.jpg")):
            images.append(load_photo(str(path)))
            labels.append(label)
    return tf.stack(images), np.array(labels)


def build_model():
    return tf.keras.Sequential(
        [
            tf.keras.Input((IMG_SIZE, IMG_SIZE, 3)),
            tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
            tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
            tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(len(CLASSES)),
        ]
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=None)
    parser.add_argument("--per-class", type=int, default=360)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    tf.keras.utils.set_random_seed(1)

    if args.data is None:
        root = pathlib.Path(tempfile.mkdtemp(prefix="flowers_"))
        write_demo_photos(root, args.per_class)
    else:
        root = pathlib.Path(args.data)

    images, labels = load_folder(root)
    print("loaded", images.shape, os.path.basename(root))

    order = np.random.permutation(len(labels))
    images, labels = images.numpy()[order], labels[order]
    model = build_model()
    model.compile(
        "adam",
        tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    model.fit(images, labels, batch_size=32, epochs=args.epochs, validation_split=0.1, verbose=2)


if __name__ == "__main__":
    main()
