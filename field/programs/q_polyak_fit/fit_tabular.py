"""Credit scoring on wide tabular data. Weights are averaged over the last part of the training (Polyak),
which gives a smoother model than the last iterate."""
import argparse
import csv
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--rows", type=int, default=12000)
    p.add_argument("--cols", type=int, default=300)
    p.add_argument("--hidden", type=int, nargs="+", default=[768, 768, 384])
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--batch-size", type=int, default=256)
    p.add_argument("--burn-in", type=int, default=20, help="batches before the averaging begins")
    p.add_argument("--log", default="history.csv")
    return p.parse_args()


def make_table(rows, cols, seed=4):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, cols)).astype("float32")
    w = rng.standard_normal(cols) * (rng.random(cols) < 0.1)
    score = x @ w + 0.7 * x[:, 0] * x[:, 1]
    y = (score + rng.standard_normal(rows) > 0).astype("float32")
    return x, y


class CsvHistory(keras.callbacks.Callback):
    def __init__(self, path):
        super().__init__()
        self.path = path

    def on_epoch_end(self, epoch, logs=None):
        with open(self.path, "a", newline="") as f:
            csv.writer(f).writerow([epoch] + ["%.5f" % v for v in (logs or {}).values()])


class PolyakAverage(keras.callbacks.Callback):
    def __init__(self, burn_in=0):
        super().__init__()
        self.burn_in = burn_in
        self.seen = 0
        self.iterates = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen += 1
        if self.seen <= self.burn_in:
            return
        self.iterates.append(self.model.get_weights())

    def on_train_end(self, logs=None):
        if self.iterates:
            avg = [np.mean(np.stack(ws), axis=0) for ws in zip(*self.iterates)]
            self.model.set_weights(avg)


def build(cols, hidden):
    inp = keras.Input((cols,))
    h = inp
    for n in hidden:
        h = keras.layers.Dense(n, activation="gelu")(h)
        h = keras.layers.Dropout(0.2)(h)
    out = keras.layers.Dense(1, activation="sigmoid")(h)
    model = keras.Model(inp, out)
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9), "binary_crossentropy",
                  metrics=[keras.metrics.AUC(name="auc")])
    return model


def main():
    args = parse_args()
    keras.utils.set_random_seed(0)
    x, y = make_table(args.rows, args.cols)
    cut = int(0.85 * args.rows)
    model = build(args.cols, args.hidden)
    print("parameters: %d" % model.count_params())
    t = time.time()
    model.fit(x[:cut], y[:cut], validation_data=(x[cut:], y[cut:]), epochs=args.epochs,
              batch_size=args.batch_size, verbose=2,
              callbacks=[CsvHistory(args.log), PolyakAverage(args.burn_in)])
    print("fit took %.1f s, %d steps" % (time.time() - t, int(model.optimizer.iterations)))
    loss, auc = model.evaluate(x[cut:], y[cut:], batch_size=512, verbose=0)
    print("averaged model: loss %.4f auc %.4f" % (loss, auc))


if __name__ == "__main__":
    main()
