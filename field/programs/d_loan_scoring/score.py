#!/usr/bin/env python
"""Nightly scoring of the loan book with the approved model."""

import argparse
import csv
import os
import tempfile

import numpy as np
import tensorflow as tf

FEATURES = 24


def ensure_model(path):
    """The registry is not reachable from the sandbox: create a stand-in once."""
    if os.path.exists(path):
        return
    tf.keras.utils.set_random_seed(2024)
    inputs = tf.keras.Input((FEATURES,), name="features")
    x = tf.keras.layers.Normalization(mean=np.zeros(FEATURES), variance=np.ones(FEATURES))(inputs)
    for units in (64, 64, 32):
        x = tf.keras.layers.Dense(units, activation="relu")(x)
    outputs = tf.keras.layers.Dense(1, activation="sigmoid", name="default_probability")(x)
    tf.keras.Model(inputs, outputs).save(path)


def read_book(rows):
    rng = np.random.default_rng(7)
    ids = np.arange(100000, 100000 + rows)
    return ids, rng.normal(size=(rows, FEATURES)).astype(np.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=9000)
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--workdir", default=None)
    args = parser.parse_args()
    workdir = args.workdir or tempfile.mkdtemp(prefix="loanbook_")

    model_path = os.path.join(workdir, "approved.keras")
    ensure_model(model_path)
    model = tf.keras.models.load_model(model_path)

    ids, features = read_book(args.rows)
    scores = model.predict(features, batch_size=args.batch_size, verbose=0)[:, 0]

    target = os.path.join(workdir, "scores.csv")
    with open(target, "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["loan_id", "pd"])
        writer.writerows(zip(ids.tolist(), scores.round(5).tolist()))
    print("scored", len(ids), "loans, mean PD", round(float(scores.mean()), 4), "->", target)


if __name__ == "__main__":
    main()
