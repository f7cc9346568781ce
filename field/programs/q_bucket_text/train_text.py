"""Sentence classification with sequences of very different length.

Sentences are grouped by length, so that little of a batch is padding."""
import argparse
import time

import numpy as np
import tensorflow as tf

ap = argparse.ArgumentParser()
ap.add_argument("--sentences", type=int, default=9000)
ap.add_argument("--vocab", type=int, default=3000)
ap.add_argument("--batch", type=int, default=24)
ap.add_argument("--dim", type=int, default=64)
ap.add_argument("--epochs", type=int, default=1)
args = ap.parse_args()

BOUNDARIES = [32, 96, 256]
tf.keras.utils.set_random_seed(21)


def corpus():
    rng = np.random.default_rng(21)
    for _ in range(args.sentences):
        y = int(rng.integers(2))
        n = int(np.clip(rng.lognormal(3.6, 0.8), 4, BOUNDARIES[-1]))
        s = rng.integers(10, args.vocab, n)
        s[rng.integers(n, size=1 + n // 8)] = 2 + y
        yield s.astype(np.int32), y


def bucketed(samples):
    """list of (tokens padded to the boundary of the bucket, labels)"""
    groups = {b: [] for b in BOUNDARIES}
    for s, y in samples:
        groups[next(b for b in BOUNDARIES if len(s) <= b)].append((s, y))
    out = []
    for b, items in groups.items():
        for i in range(0, len(items) - args.batch + 1, args.batch):
            part = items[i:i + args.batch]
            tok = np.zeros((args.batch, b), np.int32)
            for r, (s, _) in enumerate(part):
                tok[r, :len(s)] = s
            out.append((tf.constant(tok), tf.constant([y for _, y in part], tf.float32)))
    return out


class TextNet(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.emb = tf.keras.layers.Embedding(args.vocab, args.dim)
        self.convs = [tf.keras.layers.Conv1D(128, 5, padding="same", activation="relu") for _ in range(3)]
        self.out = tf.keras.layers.Dense(1)

    def call(self, tok):
        mask = tf.cast(tok > 0, tf.float32)[..., None]
        x = self.emb(tok)
        for c in self.convs:
            x = c(x) * mask
        x = tf.reduce_sum(x, 1) / tf.reduce_sum(mask, 1)
        return self.out(x)[:, 0]


net = TextNet()
opt = tf.keras.optimizers.Adam(1e-3)
bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def train_step(tok, y):
    print("tracing for length", tok.shape[1])
    with tf.GradientTape() as tape:
        logits = net(tok)
        loss = bce(y, logits)
    g = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(g, net.trainable_variables))
    acc = tf.reduce_mean(tf.cast((logits > 0) == (y > 0.5), tf.float32))
    return loss, acc


data = bucketed(corpus())
print("batches:", len(data))
rng = np.random.default_rng(0)
steps = 0
for epoch in range(args.epochs):
    t, hist = time.time(), []
    for i in rng.permutation(len(data)):
        hist.append(train_step(*data[i]))
        steps += 1
        if steps % 50 == 0:
            l, a = np.mean([[float(v) for v in h] for h in hist[-50:]], axis=0)
            print(f"epoch {epoch} step {steps} loss {l:.4f} acc {a:.3f} ({time.time() - t:.1f}s)")
print("steps", steps)
