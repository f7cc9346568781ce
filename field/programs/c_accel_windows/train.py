import dataclasses
import logging

import numpy as np
import tensorflow as tf

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
logger = logging.getLogger("accel")


@dataclasses.dataclass
class Config:
    subjects: int = 24
    samples: int = 6000
    channels: int = 6
    window: int = 128
    stride: int = 16
    batch: int = 256
    epochs: int = 14
    jitter: float = 0.05
    classes: int = 8


def load_recordings(cfg, rng):
    t = np.arange(cfg.samples, dtype=np.float32) / 50.0
    recs, labels = [], []
    for s in range(cfg.subjects):
        c = s % cfg.classes
        base = np.sin(2 * np.pi * (0.5 + 0.3 * c) * t)[:, None]
        recs.append(
            (base + 0.3 * rng.standard_normal((cfg.samples, cfg.channels))).astype(np.float32)
        )
        labels.append(c)
    return recs, labels


def augmented_windows(cfg, recs, labels, rng):
    """Cut windows out of jittered and rescaled recordings."""
    xs, ys = [], []
    for rec, label in zip(recs, labels):
        rec = rec * rng.normal(1.0, 0.1, (1, cfg.channels)).astype(np.float32)
        rec = rec + rng.normal(0, cfg.jitter, rec.shape).astype(np.float32)
        for start in range(0, cfg.samples - cfg.window, cfg.stride):
            xs.append(rec[start : start + cfg.window])
            ys.append(label)
    x, y = np.stack(xs), np.array(ys, np.int32)
    order = rng.permutation(len(x))
    return x[order], y[order]


def make_dataset(cfg, recs, labels, rng):
    x, y = augmented_windows(cfg, recs, labels, rng)

    def batches():
        for i in range(0, len(x) - cfg.batch + 1, cfg.batch):
            yield x[i : i + cfg.batch], y[i : i + cfg.batch]

    ds = tf.data.Dataset.from_generator(
        batches,
        output_signature=(
            tf.TensorSpec((cfg.batch, cfg.window, cfg.channels), tf.float32),
            tf.TensorSpec((cfg.batch,), tf.int32),
        ),
    )
    return ds.prefetch(4)


def build(cfg):
    return tf.keras.Sequential(
        [
            tf.keras.Input((cfg.window, cfg.channels)),
            tf.keras.layers.Conv1D(24, 7, strides=4, activation="relu"),
            tf.keras.layers.Conv1D(32, 5, strides=2, activation="relu"),
            tf.keras.layers.GlobalAveragePooling1D(),
            tf.keras.layers.Dense(cfg.classes),
        ]
    )


def main():
    cfg = Config()
    rng = np.random.default_rng(5)
    recs, labels = load_recordings(cfg, rng)
    model = build(cfg)
    opt = tf.keras.optimizers.Adam(2e-3)
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    acc = tf.keras.metrics.SparseCategoricalAccuracy()

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = loss_fn(y, logits)
        opt.apply_gradients(
            zip(tape.gradient(loss, model.trainable_weights), model.trainable_weights)
        )
        acc.update_state(y, logits)
        return loss

    for epoch in range(cfg.epochs):
        acc.reset_state()
        for x, y in make_dataset(cfg, recs, labels, rng):
            loss = train_step(x, y)
        logger.info("epoch %d loss %.3f acc %.3f", epoch, loss, acc.result())


if __name__ == "__main__":
    main()
