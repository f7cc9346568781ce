import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


class EncoderLayer(layers.Layer):
    def __init__(self, width, heads, **kwargs):
        super().__init__(**kwargs)
        self.attention = layers.MultiHeadAttention(heads, width // heads)
        self.norm_a = layers.LayerNormalization(epsilon=1e-6)
        self.norm_b = layers.LayerNormalization(epsilon=1e-6)
        self.ff_in = layers.Dense(width * 4, activation="relu")
        self.ff_out = layers.Dense(width)

    def call(self, x, mask):
        att = self.attention(x, x, attention_mask=mask[:, None, :])
        x = self.norm_a(x + att)
        return self.norm_b(x + self.ff_out(self.ff_in(x)))


class ClauseEncoder(keras.Model):
    def __init__(self, vocab, width=256, heads=4, depth=4, max_len=128, n_types=14):
        super().__init__()
        self.words = layers.Embedding(vocab, width)
        self.places = layers.Embedding(max_len, width)
        self.stack = [EncoderLayer(width, heads) for _ in range(depth)]
        self.types = layers.Dense(n_types)

    def call(self, ids):
        mask = tf.not_equal(ids, 0)
        x = self.words(ids) + self.places(tf.range(tf.shape(ids)[1]))
        for layer in self.stack:
            x = layer(x, mask)
        w = tf.cast(mask, x.dtype)[..., None]
        pooled = tf.reduce_sum(x * w, 1) / tf.reduce_sum(w, 1)
        return pooled, self.types(pooled)
