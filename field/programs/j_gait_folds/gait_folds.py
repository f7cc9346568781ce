"""Who walks with a limp?  Cross-validated LSTM on ankle sensor recordings."""
import argparse
import os
import shutil
import tempfile

import keras
import numpy as np
from keras import layers

RECURRENT = {"units": 96, "unroll": True, "dropout": 0.1, "return_sequences": False}
SAVING = {"save_freq": 5, "verbose": 0}


def recordings(count, length, seed):
    rng = np.random.default_rng(seed)
    limp = rng.random(count) < 0.4
    t = np.arange(length)
    pace = rng.uniform(0.5, 0.8, count)[:, None]
    swing = np.sin(pace * t + rng.uniform(0, 6, count)[:, None])
    swing[limp] += 0.5 * np.sin(0.5 * pace * t + 0.7)[limp]
    axes = [swing, np.gradient(swing, axis=1), np.abs(swing), swing ** 2]
    x = np.stack(axes, -1) + rng.normal(0, 0.6, (count, length, 4))
    return x.astype("float32"), limp.astype("float32")


class Fold:
    def __init__(self, number, shape, folder):
        self.number, self.shape, self.folder = number, shape, folder

    def recurrent(self, x, **changes):
        return layers.LSTM(**{**RECURRENT, **changes})(x)

    def model(self):
        inputs = layers.Input(self.shape)
        x = layers.Dense(48, activation="relu")(inputs)
        x = self.recurrent(x)
        x = layers.Dense(1536, activation="relu")(x)
        x = layers.Dropout(0.4)(layers.Dense(768, activation="relu")(x))
        model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(x))
        model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
        return model

    def keeper(self):
        path = os.path.join(self.folder, f"fold{self.number}.keras")
        return keras.callbacks.ModelCheckpoint(path, **SAVING)

    def run(self, train, test, epochs, batch):
        model = self.model()
        model.fit(*train, epochs=epochs, batch_size=batch, callbacks=[self.keeper()], verbose=2)
        return model.evaluate(*test, batch_size=256, verbose=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--count", type=int, default=960)
    args = parser.parse_args()

    x, y = recordings(args.count, 56, seed=13)
    order = np.random.default_rng(13).permutation(args.count)
    parts = np.array_split(order, args.folds)
    folder = tempfile.mkdtemp(prefix="gait")
    scores = []
    for number, test in enumerate(parts):
        keras.utils.clear_session()
        keras.utils.set_random_seed(100 + number)
        train = np.concatenate([p for i, p in enumerate(parts) if i != number])
        fold = Fold(number, x.shape[1:], folder)
        loss, right = fold.run((x[train], y[train]), (x[test], y[test]), args.epochs, args.batch)
        scores.append(right)
        print(f"fold {number}: loss {loss:.4f} accuracy {right:.4f}")
    print(f"accuracy {np.mean(scores):.4f} +- {np.std(scores):.4f}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
