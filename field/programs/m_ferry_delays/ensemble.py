# snapshot ensemble (Huang et al. 2017) for the departure delays of the island ferries
import math
import os
import tempfile

import numpy as np
import tensorflow as tf

CFG = dict(window=24, features=9, hidden=32, batch=128, cycles=3, epochs_per_cycle=3, lr_max=0.08, seed=5)

tf.keras.utils.set_random_seed(CFG["seed"])


class Ferries:
    """hourly log: wind, swell, tide, passengers, ... -> minutes of delay of the next departure"""

    def __init__(self, hours=4600):
        rng = np.random.default_rng(CFG["seed"])
        t = np.arange(hours)
        wind = np.abs(np.convolve(rng.normal(0, 1, hours), np.ones(12) / 4, "same"))
        tide = np.sin(2 * np.pi * t / 12.42)
        crowd = 1.0 + 0.6 * np.sin(2 * np.pi * t / 24) + 0.3 * np.sin(2 * np.pi * t / 168)
        delay = 2.0 * wind * (tide < -0.3) + crowd ** 2 + rng.normal(0, 0.3, hours)
        extra = rng.normal(0, 1, (hours, CFG["features"] - 4))
        self.series = np.column_stack([wind, tide, crowd, delay, extra]).astype("float32")
        self.delay = delay.astype("float32")

    def windows(self):
        w = CFG["window"]
        x = np.lib.stride_tricks.sliding_window_view(self.series, w, axis=0)[:-1].transpose(0, 2, 1)
        return np.ascontiguousarray(x), self.delay[w:, None]


def get_model():
    model = tf.keras.Sequential([
        tf.keras.layers.Input((CFG["window"], CFG["features"])),
        tf.keras.layers.Conv1D(CFG["hidden"], 5, activation="relu"),
        tf.keras.layers.LSTM(CFG["hidden"]),
        tf.keras.layers.Dense(16, activation="relu"),
        tf.keras.layers.Dense(1),
    ])
    return model


def cosine_lr(epoch):
    n = CFG["epochs_per_cycle"]
    return CFG["lr_max"] / 2 * (math.cos(math.pi * (epoch % n) / n) + 1)


data = Ferries()
x, y = data.windows()
mu, sd = x.mean((0, 1)), x.std((0, 1))
x = (x - mu) / sd
n_train = 3600
xtr, ytr, xva, yva = x[:n_train], y[:n_train], x[n_train:], y[n_train:]

model = get_model()
snapshots = []
folder = tempfile.mkdtemp(prefix="ferry_")

for epoch in range(CFG["cycles"] * CFG["epochs_per_cycle"]):
    lr = cosine_lr(epoch)
    model.compile(optimizer=tf.keras.optimizers.SGD(learning_rate=lr, clipnorm=1.0), loss="mse", metrics=["mae"])
    h = model.fit(xtr, ytr, batch_size=CFG["batch"], validation_data=(xva, yva), verbose=0)
    print("epoch %2d  lr %.4f  mse %.3f  val mse %.3f  val mae %.3f" % (
        epoch, lr, h.history["loss"][0], h.history["val_loss"][0], h.history["val_mae"][0]))
    if (epoch + 1) % CFG["epochs_per_cycle"] == 0:
        path = os.path.join(folder, "snap%d.weights.h5" % len(snapshots))
        model.save_weights(path)
        snapshots.append(path)

preds = []
for path in snapshots:
    model.load_weights(path)
    preds.append(model.predict(xva, batch_size=512, verbose=0))
for i, p in enumerate(preds):
    print("snapshot %d  mae %.3f" % (i, np.abs(p - yva).mean()))
print("ensemble    mae %.3f" % np.abs(np.mean(preds, 0) - yva).mean())

for path in snapshots:
    os.remove(path)
os.rmdir(folder)
