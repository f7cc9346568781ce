import argparse
import tempfile

import tensorflow as tf

from oct.pipeline import ScanPipeline
from oct.storage import DIAGNOSES, write_archive


def build(side):
    return tf.keras.Sequential([
        tf.keras.layers.Input((side, side, 1)),
        tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
        tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(len(DIAGNOSES)),
    ])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--per-class", type=int, default=60)
    p.add_argument("--scan-side", type=int, default=448)
    p.add_argument("--epochs", type=int, default=14)
    args = p.parse_args()

    tf.keras.utils.set_random_seed(12)
    root = write_archive(tempfile.mkdtemp(prefix="oct_") + "/scans", args.per_class, args.scan_side)
    pipeline = ScanPipeline(root)
    model = build(pipeline.side)
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    history = model.fit(pipeline.training(args.per_class * len(DIAGNOSES)), epochs=args.epochs, verbose=2)
    print("best accuracy", max(history.history["accuracy"]))


if __name__ == "__main__":
    main()
