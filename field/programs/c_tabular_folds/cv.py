"""Cross-validated blend of wide networks for a tabular competition."""

import argparse

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, regularizers


def load(n=2600, f=600, seed=42):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, f).astype(np.float32)
    w = rng.randn(f) / np.sqrt(f)
    y = (X @ w + 0.3 * rng.randn(n) > 0).astype(np.float32)
    return X, y


def kfold(n, k, seed):
    idx = np.random.RandomState(seed).permutation(n)
    for part in np.array_split(idx, k):
        yield np.setdiff1d(idx, part), part


def get_model(n_features, units):
    m = tf.keras.Sequential(
        [
            tf.keras.Input((n_features,)),
            layers.Dense(units, activation="relu", kernel_regularizer=regularizers.l2(1e-6)),
            layers.Dropout(0.2),
            layers.Dense(units, activation="relu"),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    m.compile(optimizer=tf.keras.optimizers.Adam(3e-4), loss="binary_crossentropy", metrics=["AUC"])
    return m


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--folds", type=int, default=6)
    ap.add_argument("--units", type=int, default=1500)
    ap.add_argument("--epochs", type=int, default=1)
    args = ap.parse_args()

    X, y = load()
    oof = np.zeros(len(X), np.float32)
    results = []
    for fold, (tr, va) in enumerate(kfold(len(X), args.folds, seed=1)):
        model = get_model(X.shape[1], args.units)
        h = model.fit(X[tr], y[tr], epochs=args.epochs, batch_size=512, verbose=0)
        oof[va] = model.predict(X[va], batch_size=512, verbose=0)[:, 0]
        results.append(h)
        print(f"fold {fold}: loss {h.history['loss'][-1]:.4f}")

    best = min(results, key=lambda h: h.history["loss"][-1])
    print("best train loss", best.history["loss"][-1])
    print("oof accuracy", ((oof > 0.5) == (y > 0.5)).mean())
