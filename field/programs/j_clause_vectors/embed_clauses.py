#!/usr/bin/env python
"""Embed contract clauses with a small encoder and list near duplicates."""
import argparse
from dataclasses import dataclass, field

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops


@dataclass
class Encoder:
    vocabulary: int = 3000
    width: int = 128
    heads: int = 4
    depth: int = 1
    length: int = 112
    model: keras.Model = field(init=False, default=None)

    def __post_init__(self):
        tokens = layers.Input((self.length,), dtype="int32")
        place = layers.Embedding(self.length, self.width)(ops.arange(self.length))
        x = layers.Embedding(self.vocabulary, self.width)(tokens) + place
        for _ in range(self.depth):
            y = layers.LayerNormalization()(x)
            x = x + layers.MultiHeadAttention(self.heads, self.width // self.heads)(y, y)
            y = layers.LayerNormalization()(x)
            x = x + layers.Dense(self.width)(layers.Dense(self.width, activation="gelu")(y))
        self.model = keras.Model(tokens, layers.LayerNormalization()(x))

    def hidden(self, tokens):
        return self.model.predict_on_batch(tokens)


class Collector:
    """Gathers one vector per clause: the state above the leading marker."""

    def __init__(self, encoder):
        self.encoder = encoder
        self.rows = []

    def feed(self, tokens):
        states = self.encoder.hidden(tokens)
        self.rows.append(self.leading(states))
        return float(np.linalg.norm(self.rows[-1], axis=-1).mean())

    @staticmethod
    def leading(states):
        return states[:, 0]

    def matrix(self):
        table = np.concatenate(self.rows)
        return table / np.linalg.norm(table, axis=1, keepdims=True)


def clauses(count, encoder, seed):
    rng = np.random.default_rng(seed)
    base = rng.zipf(1.3, (count, encoder.length)) % (encoder.vocabulary - 2) + 2
    twins = rng.choice(count, count // 20, replace=False)
    for i in twins:
        base[i] = base[rng.integers(count)]
        base[i, rng.integers(1, encoder.length)] = 2
    base[:, 0] = 1
    return base.astype(np.int32)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clauses", type=int, default=11520)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    keras.utils.set_random_seed(args.seed)

    encoder = Encoder()
    texts = clauses(args.clauses, encoder, args.seed)
    collector = Collector(encoder)
    for start in range(0, len(texts), args.batch):
        norm = collector.feed(texts[start:start + args.batch])
        if start // args.batch % 25 == 0:
            print(f"{start:6d}/{len(texts)}  mean norm {norm:.4f}")
    table = collector.matrix()
    print("table", table.shape, table.dtype)

    near = 0
    for start in range(0, len(table), 1024):
        scores = tf.linalg.matmul(table[start:start + 1024], table, transpose_b=True).numpy()
        near += int((scores > 0.995).sum()) - len(scores)
    print(f"near duplicates: {near // 2} pairs")


if __name__ == "__main__":
    main()
