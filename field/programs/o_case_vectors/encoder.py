import numpy as np
import tensorflow as tf


class Encoder(tf.Module):
    """Small pre-norm transformer, mean pooled, unit length."""

    def __init__(self, vocab, dim, heads, layers, max_len, seed=0):
        super().__init__()
        rng = np.random.default_rng(seed)
        w = lambda *s: tf.Variable((rng.standard_normal(s) / np.sqrt(s[0])).astype("float32"), trainable=False)
        self.dim, self.heads = dim, heads
        self.embed = tf.Variable((0.1 * rng.standard_normal((vocab, dim))).astype("float32"), trainable=False)
        self.pos = tf.Variable((0.1 * rng.standard_normal((max_len, dim))).astype("float32"), trainable=False)
        self.blocks = [dict(qkv=w(dim, 3 * dim), out=w(dim, dim), up=w(dim, 4 * dim), down=w(4 * dim, dim))
                       for _ in range(layers)]

    @staticmethod
    def norm(x):
        m, v = tf.nn.moments(x, [-1], keepdims=True)
        return (x - m) * tf.math.rsqrt(v + 1e-5)

    def attend(self, x, mask, blk):
        b, n = tf.shape(x)[0], tf.shape(x)[1]
        q, k, v = tf.unstack(tf.transpose(tf.reshape(
            self.norm(x) @ blk["qkv"], [b, n, 3, self.heads, self.dim // self.heads]), [2, 0, 3, 1, 4]))
        a = tf.matmul(q, k, transpose_b=True) / (self.dim // self.heads) ** 0.5
        a = tf.nn.softmax(a + (mask[:, None, None] - 1.0) * 1e9)
        return tf.reshape(tf.transpose(a @ v, [0, 2, 1, 3]), [b, n, self.dim]) @ blk["out"]

    @tf.function
    def __call__(self, ids):
        mask = tf.cast(ids > 0, tf.float32)
        x = tf.gather(self.embed, ids) + self.pos[:ids.shape[1]]
        for blk in self.blocks:
            x = x + self.attend(x, mask, blk)
            x = x + tf.nn.gelu(self.norm(x) @ blk["up"]) @ blk["down"]
        x = tf.reduce_sum(x * mask[..., None], 1) / tf.reduce_sum(mask, 1, keepdims=True)
        return tf.math.l2_normalize(x, -1)
