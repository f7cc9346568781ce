"""5-fold cross validation of a 1D CNN that tells blast types from geophone traces."""
import json

import keras
import numpy as np
from keras import layers

config = {
    "traces": 1500,
    "samples": 512,
    "channels": 3,
    "classes": 4,
    "folds": 5,
    "epochs": 4,
    "batch": 50,
    "filters": [32, 48, 64],
}


def geophones(cfg, rng):
    n, t = cfg["traces"], cfg["samples"]
    kind = rng.integers(0, cfg["classes"], n)
    time = np.arange(t) / t
    onset = rng.uniform(0.1, 0.3, (n, 1, 1))
    freq = 12.0 + 9.0 * kind[:, None, None] + rng.normal(0, 2, (n, 1, cfg["channels"]))
    decay = 6.0 + 2.0 * (kind[:, None, None] % 2)
    lag = np.clip(time[None, :, None] - onset, 0, None)
    wave = np.sin(2 * np.pi * freq * lag) * np.exp(-decay * lag) * (lag > 0)
    wave += rng.normal(0, 0.4, wave.shape)
    return wave.astype("float32"), kind


def stratified_folds(labels, k, rng):
    where = np.empty(len(labels), int)
    for c in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == c))
        where[rows] = np.arange(len(rows)) % k
    for fold in range(k):
        yield np.flatnonzero(where != fold), np.flatnonzero(where == fold)


def cnn(cfg):
    inp = keras.Input((cfg["samples"], cfg["channels"]))
    x = inp
    for f in cfg["filters"]:
        x = layers.Conv1D(f, 7, padding="same", activation="relu")(x)
        x = layers.Conv1D(f, 5, padding="same", activation="relu")(x)
        x = layers.MaxPooling1D(3)(x)
    x = layers.GlobalAveragePooling1D()(x)
    x = layers.Dropout(0.3)(x)
    return keras.Model(inp, layers.Dense(cfg["classes"], activation="softmax")(x))


class Recorder(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.losses = []
        self.epochs = []

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(logs["loss"])

    def on_epoch_end(self, epoch, logs=None):
        self.epochs.append({k: round(float(v), 4) for k, v in logs.items()})


def confusion(truth, guess, classes):
    m = np.zeros((classes, classes), int)
    for t, g in zip(truth, guess):
        m[t, g] += 1
    return m


def main(cfg):
    keras.utils.set_random_seed(21)
    rng = np.random.default_rng(21)
    x, y = geophones(cfg, rng)

    model = cnn(cfg)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    fresh = [w.copy() for w in model.get_weights()]
    fresh_opt = [v.numpy() for v in model.optimizer.variables]

    scores, total = [], np.zeros((cfg["classes"],) * 2, int)
    for fold, (fit_rows, held_rows) in enumerate(stratified_folds(y, cfg["folds"], rng)):
        model.set_weights(fresh)
        for var, value in zip(model.optimizer.variables, fresh_opt):
            var.assign(value)
        for var in model.optimizer.variables[len(fresh_opt):]:
            var.assign(np.zeros(var.shape, "float32"))
        log = Recorder()
        model.fit(
            x[fit_rows], y[fit_rows],
            validation_data=(x[held_rows], y[held_rows]),
            batch_size=cfg["batch"], epochs=cfg["epochs"], callbacks=[log], verbose=0,
        )
        guess = model.predict(x[held_rows], batch_size=100, verbose=0).argmax(1)
        total += confusion(y[held_rows], guess, cfg["classes"])
        scores.append(float(np.mean(guess == y[held_rows])))
        print(f"fold {fold}: {scores[-1]:.3f}  batches {len(log.losses)}  {json.dumps(log.epochs[-1])}")
    print("mean accuracy %.3f +- %.3f" % (np.mean(scores), np.std(scores)))
    print(total)


if __name__ == "__main__":
    main(config)
