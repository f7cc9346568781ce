"""Direction of the next bar from the last 64, with an own loop over train_on_batch."""
import json
import multiprocessing
import os
import sys

import numpy as np
import tensorflow as tf

CONFIG = json.loads("""{"bars": 20000, "lookback": 64, "batch": 256, "steps": 220, "report": 50, "seed": 4}""")

tf.config.threading.set_intra_op_parallelism_threads(multiprocessing.cpu_count())


def load(cfg):
    rng = np.random.default_rng(cfg["seed"])
    close = np.exp(np.cumsum(rng.normal(0, 0.01, cfg["bars"])))
    ret = np.diff(np.log(close))
    x = np.lib.stride_tricks.sliding_window_view(ret, cfg["lookback"])[:-1]
    y = (ret[cfg["lookback"]:] > 0).astype(np.float64)
    return x * 100, y


def model_for(cfg):
    net = tf.keras.Sequential([
        tf.keras.Input((cfg["lookback"],)),
        tf.keras.layers.Reshape((cfg["lookback"], 1)),
        tf.keras.layers.Conv1D(48, 5, activation="relu"),
        tf.keras.layers.Conv1D(48, 5, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(1, activation="sigmoid"),
    ])
    net.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return net


def main():
    cfg = CONFIG
    if len(sys.argv) > 1:
        cfg.update(json.loads(sys.argv[1]))
    x, y = load(cfg)
    net = model_for(cfg)
    rng = np.random.default_rng(0)
    log = []
    for step in range(1, cfg["steps"] + 1):
        k = rng.integers(0, len(y), cfg["batch"])
        loss, acc = net.train_on_batch(x[k], y[k])
        log.append((step, float(loss), float(acc)))
        if step % cfg["report"] == 0:
            sample = net.predict_on_batch(x[:512])
            print(step, f"loss {loss:.4f} acc {acc:.3f} mean p {sample.mean():.3f}")
    os.makedirs("out", exist_ok=True)
    np.savetxt("out/log.csv", np.array(log), delimiter=",")


if __name__ == "__main__":
    main()
