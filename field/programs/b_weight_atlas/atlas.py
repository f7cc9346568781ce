"""Records the path of a network through weight space for the loss-landscape plots."""
import argparse

import numpy as np
from tensorflow import keras


class Trajectory(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.points = []
        self.spread = []

    def on_train_batch_end(self, batch, logs=None):
        self.points.append(np.concatenate([w.ravel() for w in self.model.get_weights()]))
        centre = np.mean(self.points, axis=0)
        self.spread.append(float(np.linalg.norm(self.points[-1] - centre)))

    def on_epoch_end(self, epoch, logs=None):
        print("epoch", epoch, "spread", round(self.spread[-1], 4))


def blobs(n, dim, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 10, n)
    return (rng.normal(size=(10, dim))[y] + rng.normal(size=(n, dim))).astype("float32"), y


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--hidden", type=int, default=512)
    args = p.parse_args()

    x, y = blobs(2560, 256, seed=0)
    model = keras.Sequential([
        keras.Input((256,)),
        keras.layers.Dense(args.hidden, activation="tanh"),
        keras.layers.Dense(args.hidden, activation="tanh"),
        keras.layers.Dense(10, activation="softmax"),
    ])
    model.compile(keras.optimizers.SGD(0.05), "sparse_categorical_crossentropy")
    path = Trajectory()
    model.fit(x, y, batch_size=128, epochs=args.epochs, callbacks=[path], verbose=0)
    print("final spread", path.spread[-1], "of", len(path.spread))


if __name__ == "__main__":
    main()
