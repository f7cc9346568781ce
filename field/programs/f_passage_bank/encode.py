"""Turns a corpus of passages into one vector each and answers a few look-ups with them.

usage: python encode.py [n_passages]
"""
import sys
import time

import numpy as np
import tensorflow as tf

LENGTH, WIDTH, VOCAB = 96, 256, 8000


class Block(tf.keras.layers.Layer):
    def __init__(self, heads=4):
        super().__init__()
        self.attend = tf.keras.layers.MultiHeadAttention(heads, WIDTH // heads)
        self.up = tf.keras.layers.Dense(2 * WIDTH, activation="gelu")
        self.down = tf.keras.layers.Dense(WIDTH)
        self.norm1 = tf.keras.layers.LayerNormalization()
        self.norm2 = tf.keras.layers.LayerNormalization()

    def call(self, x):
        x = self.norm1(x + self.attend(x, x))
        return self.norm2(x + self.down(self.up(x)))


class Encoder:
    def __init__(self, depth=1):
        tokens = tf.keras.Input((LENGTH,), dtype="int32")
        x = tf.keras.layers.Embedding(VOCAB, WIDTH)(tokens)
        for _ in range(depth):
            x = Block()(x)
        self.network = tf.keras.Model(tokens, x)
        self._forward = tf.function(self.network, input_signature=[tf.TensorSpec((None, LENGTH), tf.int32)])

    def hidden(self, tokens):
        return self._forward(tf.constant(tokens)).numpy()

    def passages(self, tokens, batch=64):
        vectors = []
        for start in range(0, len(tokens), batch):
            states = self.hidden(tokens[start:start + batch])
            vectors.append(states[:, 0])
            if start % (batch * 20) == 0:
                print(f"  {start + len(states):6d} / {len(tokens)}")
        return vectors


def main(n):
    tf.keras.utils.set_random_seed(3)
    rng = np.random.default_rng(3)
    tokens = (VOCAB * rng.beta(0.6, 5, (n, LENGTH))).astype(np.int32)
    tokens[:, 0] = 1
    encoder = Encoder()
    begin = time.time()
    bank = np.concatenate(encoder.passages(tokens))
    bank /= np.linalg.norm(bank, axis=1, keepdims=True)
    print(f"{len(bank)} vectors of {bank.shape[1]}, {bank.nbytes / 1e6:.1f} MB, {time.time() - begin:.1f} s")
    for query in rng.integers(0, n, 3):
        best = np.argsort(-bank @ bank[query])[1:4]
        print("passage", query, "is close to", best.tolist())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9000)
