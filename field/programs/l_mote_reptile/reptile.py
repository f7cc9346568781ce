"""Reptile (Nichol et al. 2018) for few-shot calibration of gas-sensor motes.

Every mote has its own gain, drift and cross-sensitivity; the meta-learner has to
adapt to a new mote from 20 labelled readings.
"""
import dataclasses
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras


@dataclasses.dataclass
class Config:
    meta_iters: int = 24
    tasks_per_iter: int = 3
    inner_steps: int = 12
    inner_lr: float = 0.03
    outer_lr: float = 0.25
    shots: int = 20
    eval_every: int = 8
    eval_motes: int = 4
    features: int = 12
    seed: int = 21


class MoteDistribution:
    def __init__(self, cfg):
        self.cfg = cfg
        self.rng = np.random.default_rng(cfg.seed)
        self.base = self.rng.normal(size=(cfg.features, 3)).astype("float32")

    def sample(self):
        gain = self.rng.uniform(0.6, 1.6, 3)
        drift = self.rng.normal(0, 0.3, 3)
        cross = 0.2 * self.rng.normal(size=self.base.shape)

        def draw(n):
            x = self.rng.normal(size=(n, self.cfg.features))
            y = np.tanh(x @ (self.base + cross)) * gain + drift + 0.02 * self.rng.normal(size=(n, 3))
            return x.astype("float32"), y.astype("float32")

        return draw(self.cfg.shots), draw(100)


def build_net(cfg):
    inp = keras.Input((cfg.features,))
    h = keras.layers.Dense(96, activation="tanh")(inp)
    h = keras.layers.LayerNormalization()(h)
    h = keras.layers.Dense(96, activation="tanh")(h)
    h = keras.layers.LayerNormalization()(h)
    h = keras.layers.Dense(96, activation="tanh")(h)
    return keras.Model(inp, keras.layers.Dense(3)(h))


class Learner:
    """A copy of the meta-network together with its inner optimizer."""

    def __init__(self, meta, cfg):
        self.cfg = cfg
        self.net = keras.models.clone_model(meta)
        self.opt = keras.optimizers.SGD(cfg.inner_lr)
        self.mse = keras.losses.MeanSquaredError()
        self.opt.build(self.net.trainable_variables)
        self.step = tf.function(self._step)

    def reset(self, weights):
        self.net.set_weights(weights)

    def _step(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.mse(y, self.net(x, training=True))
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
        return loss

    def adapt(self, x, y):
        for _ in range(self.cfg.inner_steps):
            loss = self.step(x, y)
        return loss


def meta_step(meta, motes, cfg):
    before = meta.get_weights()
    delta = [np.zeros_like(w) for w in before]
    losses = []
    for _ in range(cfg.tasks_per_iter):
        (xs, ys), _ = motes.sample()
        learner = Learner(meta, cfg)
        learner.reset(before)
        losses.append(float(learner.adapt(tf.constant(xs), tf.constant(ys))))
        delta = [d + (w - b) for d, w, b in zip(delta, learner.net.get_weights(), before)]
    meta.set_weights([b + cfg.outer_lr * d / cfg.tasks_per_iter for b, d in zip(before, delta)])
    return np.mean(losses)


def evaluate(meta, motes, learner, cfg):
    errs = []
    for _ in range(cfg.eval_motes):
        (xs, ys), (xq, yq) = motes.sample()
        learner.reset(meta.get_weights())
        learner.adapt(tf.constant(xs), tf.constant(ys))
        errs.append(np.sqrt(np.mean((learner.net(xq).numpy() - yq) ** 2)))
    return np.mean(errs)


def main():
    cfg = Config()
    keras.utils.set_random_seed(cfg.seed)
    motes = MoteDistribution(cfg)
    meta = build_net(cfg)
    probe = Learner(meta, cfg)
    start = time.time()
    for it in range(1, cfg.meta_iters + 1):
        loss = meta_step(meta, motes, cfg)
        if it % cfg.eval_every == 0:
            rmse = evaluate(meta, motes, probe, cfg)
            print(f"iter {it:3d}  inner loss {loss:.4f}  query rmse {rmse:.4f}  {time.time() - start:.1f}s")


if __name__ == "__main__":
    main()
