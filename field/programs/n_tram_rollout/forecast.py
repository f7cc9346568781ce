import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

from cells import GatedStep, Head

CONFIG = {
    "stops": 16,
    "width": 96,
    "past": 96,
    "horizon": 96,
    "lines": 512,
    "batch": 64,
    "quantiles": (0.1, 0.5, 0.9),
    "samples": 2,
    "seed": 21,
}


def passengers(cfg):
    rng = np.random.default_rng(cfg["seed"])
    t = np.arange(cfg["past"] + cfg["horizon"])[None, :, None]
    phase = rng.uniform(0, 2 * np.pi, (cfg["lines"], 1, cfg["stops"]))
    level = rng.gamma(3.0, 0.3, (cfg["lines"], 1, cfg["stops"]))
    daily = np.sin(2 * np.pi * t / 96 + phase)
    rush = np.maximum(np.sin(4 * np.pi * t / 96 + phase), 0) ** 3
    x = level * (1 + 0.5 * daily + rush) + rng.normal(0, 0.05, daily.shape)
    x = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)
    return x.astype("float32")


class Forecaster(tf.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.first = GatedStep(cfg["stops"], cfg["width"], 1)
        self.second = GatedStep(cfg["width"], cfg["width"], 2)
        self.head = Head(cfg["width"], cfg["stops"], 3)

    @tf.function
    def rollout(self, past, noise):
        h1 = tf.zeros((tf.shape(past)[0], self.cfg["width"]))
        h2 = tf.zeros_like(h1)
        for t in range(self.cfg["past"]):
            h1 = self.first(past[:, t], h1)
            h2 = self.second(h1, h2)
        y = past[:, -1]
        out = []
        for t in range(self.cfg["horizon"]):
            h1 = self.first(y, h1)
            h2 = self.second(h1, h2)
            y = self.head(h2) + 0.1 * noise[t]
            out.append(y)
        return tf.stack(out, axis=1)


def pinball(truth, forecast, q):
    d = truth - forecast
    return float(np.mean(np.maximum(q * d, (q - 1) * d)))


def main(cfg):
    series = passengers(cfg)
    past, future = series[:, : cfg["past"]], series[:, cfg["past"]:]
    model = Forecaster(cfg)
    noise = tf.random.Generator.from_seed(cfg["seed"])
    print("lines", past.shape[0], "history", past.shape[1], "horizon", cfg["horizon"])

    start = time.time()
    scores = {q: [] for q in cfg["quantiles"]}
    for lo in range(0, cfg["lines"], cfg["batch"]):
        chunk = tf.constant(past[lo: lo + cfg["batch"]])
        draws = []
        for _ in range(cfg["samples"]):
            eps = noise.normal((cfg["horizon"], chunk.shape[0], cfg["stops"]))
            draws.append(model.rollout(chunk, eps).numpy())
        draws = np.stack(draws)
        for q in cfg["quantiles"]:
            scores[q].append(pinball(future[lo: lo + cfg["batch"]], np.quantile(draws, q, axis=0), q))
        print("lines %3d-%3d  %.1fs" % (lo, lo + chunk.shape[0] - 1, time.time() - start))

    for q, values in scores.items():
        print("pinball q=%.1f: %.4f" % (q, np.mean(values)))


if __name__ == "__main__":
    main(CONFIG)
