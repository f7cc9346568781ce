"""Frame classifier for utterances of different lengths."""

import argparse
import logging

import numpy as np
import tensorflow as tf

log = logging.getLogger("frames")


class FrameNet(tf.keras.Model):
    def __init__(self, n_phones, width):
        super().__init__()
        self.convs = [
            tf.keras.layers.Conv1D(width, 5, padding="same", activation="relu") for _ in range(4)
        ]
        self.norms = [tf.keras.layers.LayerNormalization() for _ in range(3)]
        self.out = tf.keras.layers.Dense(n_phones)

    def call(self, x, training=False):
        for conv, norm in zip(self.convs, self.norms):
            x = norm(conv(x))
        return self.out(x)


def utterances(n, n_mel, n_phones, seed):
    rng = np.random.default_rng(seed)
    lengths = np.sort(rng.integers(40, 420, n))
    for t in lengths:
        phones = rng.integers(0, n_phones, t)
        mel = rng.normal(size=(t, n_mel)).astype("float32") + phones[:, None] / n_phones
        yield mel.astype("float32"), phones.astype("int32")


def collate(items, batch_size):
    for s in range(0, len(items) - batch_size + 1, batch_size):
        part = items[s : s + batch_size]
        longest = max(len(p) for _, p in part)
        x = np.zeros((batch_size, longest, part[0][0].shape[1]), "float32")
        y = np.full((batch_size, longest), -1, "int32")
        for k, (mel, ph) in enumerate(part):
            x[k, : len(ph)] = mel
            y[k, : len(ph)] = ph
        yield tf.constant(x), tf.constant(y)


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.opt = tf.keras.optimizers.Adam(lr)

    @tf.function
    def step(self, x, y):
        with tf.GradientTape() as tape:
            logits = self.model(x, training=True)
            mask = tf.cast(y >= 0, tf.float32)
            ce = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=tf.maximum(y, 0), logits=logits
            )
            loss = tf.reduce_sum(ce * mask) / tf.reduce_sum(mask)
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--utts", type=int, default=176)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--width", type=int, default=48)
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    tf.random.set_seed(7)
    items = list(utterances(args.utts, 24, 30, seed=7))
    batches = list(collate(items, args.batch_size))
    batches = [batches[k] for k in np.random.default_rng(1).permutation(len(batches))]
    trainer = Trainer(FrameNet(30, args.width), 1e-3)
    running = None
    for n, (x, y) in enumerate(batches):
        loss = float(trainer.step(x, y))
        running = loss if running is None else 0.9 * running + 0.1 * loss
        if n % 5 == 0:
            log.info("batch %d/%d  frames %d  loss %.3f", n, len(batches), x.shape[1], running)


if __name__ == "__main__":
    main()
