import tensorflow as tf


class Block(tf.keras.layers.Layer):
    def __init__(self, width, heads, **kw):
        super().__init__(**kw)
        self.attn = tf.keras.layers.MultiHeadAttention(heads, width // heads)
        self.n1 = tf.keras.layers.LayerNormalization()
        self.n2 = tf.keras.layers.LayerNormalization()
        self.up = tf.keras.layers.Dense(4 * width, activation="gelu")
        self.down = tf.keras.layers.Dense(width)

    def call(self, x):
        h = self.n1(x)
        x = x + self.attn(h, h, use_causal_mask=True)
        return x + self.down(self.up(self.n2(x)))


class TinyLM(tf.keras.Model):
    def __init__(self, vocab, width=192, heads=4, depth=3, max_len=128):
        super().__init__()
        self.tok = tf.keras.layers.Embedding(vocab, width)
        self.pos = tf.keras.layers.Embedding(max_len, width)
        self.blocks = [Block(width, heads) for _ in range(depth)]
        self.norm = tf.keras.layers.LayerNormalization()
        self.head = tf.keras.layers.Dense(vocab)

    def call(self, ids):
        x = self.tok(ids) + self.pos(tf.range(tf.shape(ids)[1]))[None]
        for b in self.blocks:
            x = b(x)
        return self.head(self.norm(x))
