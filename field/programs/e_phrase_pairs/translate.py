"""Toy sequence to sequence transformer: the target is the source read backwards, with some tokens renamed."""
import time
from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from tensorflow import keras


@dataclass
class Settings:
    vocab: int = 200
    dim: int = 64
    heads: int = 4
    blocks: int = 1
    batch: int = 32
    updates: int = 14
    shortest: int = 8
    longest: int = 40
    seed: int = 20


def corpus(s: Settings):
    rng = np.random.default_rng(s.seed)
    pairs = []
    for _ in range(s.updates * s.batch):
        n = rng.integers(s.shortest, s.longest)
        src = rng.integers(3, s.vocab, n)
        tgt = np.where(src % 5 == 0, src // 2 + 3, src)[::-1] % s.vocab
        pairs.append((src, np.concatenate([[1], tgt, [2]])))
    pairs.sort(key=lambda p: len(p[0]))
    batches = [pairs[i:i + s.batch] for i in range(0, len(pairs), s.batch)]
    order = rng.permutation(len(batches))
    return [batches[k] for k in order]


def pad(rows):
    width = max(len(r) for r in rows)
    out = np.zeros((len(rows), width), np.int32)
    for i, r in enumerate(rows):
        out[i, :len(r)] = r
    return out


class Block(keras.layers.Layer):
    def __init__(self, s, cross=False):
        super().__init__()
        self.heads, self.cross, dim = s.heads, cross, s.dim
        self.qkv = [keras.layers.Dense(dim) for _ in range(6 if cross else 3)]
        self.mix = keras.Sequential([keras.layers.Dense(4 * dim, activation="relu"), keras.layers.Dense(dim)])
        self.norms = [keras.layers.LayerNormalization() for _ in range(3)]

    def attend(self, x, y, maps, causal=False):
        q, k, v = (tf.stack(tf.split(m(t), self.heads, axis=-1), 1) for m, t in zip(maps, (x, y, y)))
        w = tf.matmul(q, k, transpose_b=True) / q.shape[-1] ** 0.5
        if causal:
            n = tf.shape(x)[1]
            w -= 1e9 * (1 - tf.linalg.band_part(tf.ones([n, n]), -1, 0))
        return tf.concat(tf.unstack(tf.nn.softmax(w) @ v, axis=1), -1)

    def call(self, x, memory=None):
        x = self.norms[0](x + self.attend(x, x, self.qkv[:3], causal=self.cross))
        if self.cross:
            x = self.norms[1](x + self.attend(x, memory, self.qkv[3:]))
        return self.norms[2](x + self.mix(x))


class Transformer(keras.Model):
    def __init__(self, s):
        super().__init__()
        self.words = keras.layers.Embedding(s.vocab, s.dim)
        self.places = keras.layers.Embedding(2 * s.longest, s.dim)
        self.encoder = [Block(s) for _ in range(s.blocks)]
        self.decoder = [Block(s, cross=True) for _ in range(s.blocks)]
        self.out = keras.layers.Dense(s.vocab)

    def embed(self, ids):
        return self.words(ids) + self.places(tf.range(tf.shape(ids)[1]))

    def call(self, source, target):
        memory = self.embed(source)
        for block in self.encoder:
            memory = block(memory)
        h = self.embed(target)
        for block in self.decoder:
            h = block(h, memory)
        return self.out(h)


class Learner:
    def __init__(self, s):
        self.model = Transformer(s)
        self.opt = keras.optimizers.Adam(1e-3, clipnorm=1.0)
        self.ce = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

    @tf.function
    def update(self, source, target):
        with tf.GradientTape() as tape:
            logits = self.model(source, target[:, :-1])
            labels = target[:, 1:]
            mask = tf.cast(labels > 0, tf.float32)
            loss = tf.reduce_sum(self.ce(labels, logits) * mask) / tf.reduce_sum(mask)
        variables = self.model.trainable_variables
        self.opt.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss


def main():
    s = Settings()
    keras.utils.set_random_seed(s.seed)
    learner = Learner(s)
    started, total = time.time(), 0.0
    for n, batch in enumerate(corpus(s), 1):
        source = tf.constant(pad([p[0] for p in batch]))
        target = tf.constant(pad([p[1] for p in batch]))
        total += float(learner.update(source, target))
        if n % 2 == 0:
            print(f"update {n:3d}  loss {total / 2:.3f}  {(time.time() - started) / n:.2f} s per update")
            total = 0.0


main()
