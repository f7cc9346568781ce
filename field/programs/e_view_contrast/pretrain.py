"""Contrastive pre-training on accelerometer windows, then a linear probe."""
import dataclasses
import logging

import numpy as np
import tensorflow as tf
from tensorflow.keras import Sequential, layers, optimizers

log = logging.getLogger("pretrain")


@dataclasses.dataclass(frozen=True)
class Config:
    windows: int = 4096
    length: int = 64
    channels: int = 6
    batch: int = 48
    epochs: int = 2
    steps_per_epoch: int = 75
    temperature: float = 0.2
    seed: int = 77


def windows(cfg):
    rng = np.random.default_rng(cfg.seed)
    kind = rng.integers(0, 5, cfg.windows)
    t = np.arange(cfg.length)[None, :, None]
    speed = 0.1 + 0.08 * kind[:, None, None]
    phase = rng.uniform(0, 6.28, (cfg.windows, 1, cfg.channels))
    x = np.sin(speed * t + phase) + 0.3 * rng.standard_normal((cfg.windows, cfg.length, cfg.channels))
    return x.astype(np.float32), kind


def encoder(cfg):
    net = Sequential([layers.Input((cfg.length, cfg.channels))], name="encoder")
    for width in (16, 32, 48):
        net.add(layers.Conv1D(width, 5, strides=2, padding="same", use_bias=False))
        net.add(layers.BatchNormalization())
        net.add(layers.ReLU())
    net.add(layers.GlobalAveragePooling1D())
    return net


def projector():
    return Sequential([layers.Input((48,)), layers.Dense(64, activation="relu"), layers.Dense(32)], name="projector")


def jitter(x):
    scale = tf.random.uniform([tf.shape(x)[0], 1, x.shape[-1]], 0.7, 1.3)
    return x * scale + 0.1 * tf.random.normal(tf.shape(x))


def nt_xent(a, b, temperature):
    z = tf.math.l2_normalize(tf.concat([a, b], 0), axis=1)
    sim = tf.matmul(z, z, transpose_b=True) / temperature
    n = tf.shape(a)[0]
    sim -= 1e9 * tf.eye(2 * n)
    target = tf.concat([tf.range(n) + n, tf.range(n)], 0)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(target, sim))


class ContrastiveTrainer:
    def __init__(self, cfg, body, head, body_opt=None, head_opt=None, graph=False):
        self.cfg, self.body, self.head = cfg, body, head
        self.body_opt = body_opt or optimizers.AdamW(1e-3, weight_decay=1e-4)
        self.head_opt = head_opt or optimizers.SGD(0.05, momentum=0.9)
        self.step = tf.function(self._step) if graph else self._step

    def _step(self, x):
        with tf.GradientTape() as tape:
            a = self.head(self.body(jitter(x), training=True), training=True)
            b = self.head(self.body(jitter(x), training=True), training=True)
            loss = nt_xent(a, b, self.cfg.temperature)
        body, head = self.body.trainable_variables, self.head.trainable_variables
        grads = tape.gradient(loss, body + head)
        self.body_opt.apply_gradients(zip(grads[:len(body)], body))
        self.head_opt.apply_gradients(zip(grads[len(body):], head))
        return loss

    def run(self, x):
        ds = tf.data.Dataset.from_tensor_slices(x).shuffle(len(x), seed=self.cfg.seed).repeat()
        batches = iter(ds.batch(self.cfg.batch).prefetch(2))
        for epoch in range(self.cfg.epochs):
            mean = tf.keras.metrics.Mean()
            for _ in range(self.cfg.steps_per_epoch):
                mean.update_state(self.step(next(batches)))
            log.info("epoch %d contrastive loss %.4f", epoch + 1, float(mean.result()))


def probe(features, kind):
    half = len(kind) // 2
    a = np.c_[features, np.ones(len(kind))]
    w, *_ = np.linalg.lstsq(a[:half], np.eye(5)[kind[:half]], rcond=None)
    return float(((a[half:] @ w).argmax(1) == kind[half:]).mean())


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    cfg = Config()
    tf.keras.utils.set_random_seed(cfg.seed)
    x, kind = windows(cfg)
    body, head = encoder(cfg), projector()
    ContrastiveTrainer(cfg, body, head).run(x)
    log.info("linear probe accuracy %.3f", probe(body.predict(x, batch_size=512, verbose=0), kind))
