"""A small encoder-decoder transformer written with plain tf.Module."""
import numpy as np
import tensorflow as tf


def positions(length, depth):
    pos = np.arange(length)[:, None]
    dim = np.arange(depth)[None, :]
    angle = pos / np.power(10000.0, (2 * (dim // 2)) / depth)
    table = np.where(dim % 2 == 0, np.sin(angle), np.cos(angle))
    return tf.constant(table, tf.float32)


class Linear(tf.Module):
    def __init__(self, n_in, n_out, name=None):
        super().__init__(name)
        self.w = tf.Variable(tf.random.normal([n_in, n_out], stddev=n_in ** -0.5), name="w")
        self.b = tf.Variable(tf.zeros([n_out]), name="b")

    def __call__(self, x):
        return tf.tensordot(x, self.w, 1) + self.b


class Norm(tf.Module):
    def __init__(self, width, name=None):
        super().__init__(name)
        self.scale = tf.Variable(tf.ones([width]))
        self.shift = tf.Variable(tf.zeros([width]))

    def __call__(self, x):
        mean, var = tf.nn.moments(x, [-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(var + 1e-5) * self.scale + self.shift


class Attention(tf.Module):
    def __init__(self, width, heads, name=None):
        super().__init__(name)
        self.heads = heads
        self.q, self.k, self.v, self.o = (Linear(width, width) for _ in range(4))

    def split(self, x):
        shape = tf.shape(x)
        x = tf.reshape(x, [shape[0], shape[1], self.heads, -1])
        return tf.transpose(x, [0, 2, 1, 3])

    def __call__(self, query, memory, causal=False):
        q, k, v = self.split(self.q(query)), self.split(self.k(memory)), self.split(self.v(memory))
        score = tf.matmul(q, k, transpose_b=True) / tf.sqrt(tf.cast(tf.shape(q)[-1], tf.float32))
        if causal:
            n = tf.shape(score)[-1]
            score += (1.0 - tf.linalg.band_part(tf.ones([n, n]), -1, 0)) * -1e9
        x = tf.matmul(tf.nn.softmax(score), v)
        x = tf.transpose(x, [0, 2, 1, 3])
        shape = tf.shape(x)
        return self.o(tf.reshape(x, [shape[0], shape[1], -1]))


class Block(tf.Module):
    def __init__(self, width, heads, cross, name=None):
        super().__init__(name)
        self.self_attention = Attention(width, heads)
        self.cross_attention = Attention(width, heads) if cross else None
        self.ff1, self.ff2 = Linear(width, 2 * width), Linear(2 * width, width)
        self.norms = [Norm(width) for _ in range(3)]

    def __call__(self, x, memory=None):
        x = self.norms[0](x + self.self_attention(x, x, causal=memory is not None))
        if self.cross_attention is not None:
            x = self.norms[1](x + self.cross_attention(x, memory))
        return self.norms[2](x + self.ff2(tf.nn.gelu(self.ff1(x))))


class Transformer(tf.Module):
    def __init__(self, vocab, width=64, heads=4, layers=2, max_len=64):
        super().__init__()
        self.embedding = tf.Variable(tf.random.normal([vocab, width], stddev=0.1))
        self.pos = positions(max_len, width)
        self.encoder = [Block(width, heads, cross=False) for _ in range(layers)]
        self.decoder = [Block(width, heads, cross=True) for _ in range(layers)]
        self.head = Linear(width, vocab)

    def embed(self, tokens):
        return tf.gather(self.embedding, tokens) + self.pos[: tf.shape(tokens)[1]]

    @tf.function
    def encode(self, source):
        x = self.embed(source)
        for block in self.encoder:
            x = block(x)
        return x

    @tf.function
    def next_log_probs(self, memory, tokens):
        x = self.embed(tokens)
        memory = tf.repeat(memory, tf.shape(tokens)[0], axis=0)
        for block in self.decoder:
            x = block(x, memory)
        return tf.nn.log_softmax(self.head(x[:, -1]))
