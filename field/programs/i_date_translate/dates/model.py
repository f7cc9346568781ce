import numpy as np
import tensorflow as tf
from tensorflow import keras

from .data import BOS, EOS, PAD
from .layers import Block


class Transformer(keras.Model):
    def __init__(self, src_size, tgt_size, dim=64, heads=4, depth=2, max_len=40):
        super().__init__()
        self.src_embed = keras.layers.Embedding(src_size, dim)
        self.tgt_embed = keras.layers.Embedding(tgt_size, dim)
        self.position = keras.layers.Embedding(max_len, dim)
        self.encoder = [Block(dim, heads) for _ in range(depth)]
        self.decoder = [Block(dim, heads, cross=True) for _ in range(depth)]
        self.project = keras.layers.Dense(tgt_size)

    def encode(self, src):
        mask = tf.cast(src != PAD, tf.float32)[:, None, None, :]
        x = self.src_embed(src) + self.position(tf.range(tf.shape(src)[1]))
        for block in self.encoder:
            x = block(x, mask)
        return x, mask

    def decode(self, tgt, memory, memory_mask):
        n = tf.shape(tgt)[1]
        causal = tf.linalg.band_part(tf.ones([n, n]), -1, 0)[None, None]
        x = self.tgt_embed(tgt) + self.position(tf.range(n))
        for block in self.decoder:
            x = block(x, causal, memory, memory_mask)
        return self.project(x)

    def call(self, inputs):
        src, tgt = inputs
        return self.decode(tgt, *self.encode(src))


class Translator:
    def __init__(self, model, corpus):
        self.model, self.corpus = model, corpus

    def __call__(self, row):
        src = tf.constant(row[None])
        tgt = tf.constant([[BOS]], tf.int32)
        for _ in range(self.corpus.tgt_len - 1):
            logits = self.model((src, tgt))
            token = tf.argmax(logits[:, -1], -1, output_type=tf.int32)
            tgt = tf.concat([tgt, token[:, None]], 1)
            if token[0] == EOS:
                break
        return self.corpus.tgt_vocab.decode(np.asarray(tgt[0]))
