"""Online forecaster: train_on_batch over a stream, a forecast for the dashboard every 100 steps."""
import json
from collections import deque

import numpy as np
import tensorflow as tf
from tensorflow import keras

CFG = json.loads('{"window": 96, "hidden": 160, "steps": 300, "batch": 32, "dashboard_every": 100}')


def stream(seed):
    rng = np.random.default_rng(seed)
    t = 0
    while True:
        yield np.sin(t / 9.0) + 0.5 * np.sin(t / 31.0) + 0.1 * rng.standard_normal()
        t += 1


def main():
    keras.utils.set_random_seed(5)
    model = keras.Sequential([
        keras.Input((CFG["window"], 1)),
        keras.layers.Conv1D(64, 5, activation="relu"),
        keras.layers.Conv1D(64, 5, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(CFG["hidden"], activation="relu"),
        keras.layers.Dense(1),
    ])
    model.compile("adam", "mse")
    source = stream(5)
    recent = deque((next(source) for _ in range(2000)), maxlen=2000)
    forecasts, losses = [], []
    rng = np.random.default_rng(6)
    for step in range(1, CFG["steps"] + 1):
        recent.extend(next(source) for _ in range(8))
        series = np.fromiter(recent, np.float32, len(recent))
        starts = rng.integers(0, len(series) - CFG["window"] - 1, CFG["batch"])
        x = np.stack([series[s:s + CFG["window"]] for s in starts])[..., None]
        y = series[starts + CFG["window"]][:, None]
        losses.append(float(model.train_on_batch(x, y)))
        if step % CFG["dashboard_every"] == 0:
            f = model.predict(series[None, -CFG["window"]:, None], verbose=0)[0, 0]
            forecasts.append((step, float(f)))
            print(f"step {step} loss {np.mean(losses[-100:]):.4f} forecast {f:+.3f}")


if __name__ == "__main__":
    main()
