import tensorflow as tf
from tensorflow.keras import layers


class Attention(layers.Layer):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.size = heads, dim // heads
        self.q, self.k, self.v, self.out = (layers.Dense(dim) for _ in range(4))

    def split(self, x):
        s = tf.shape(x)
        return tf.transpose(tf.reshape(x, [s[0], s[1], self.heads, self.size]), [0, 2, 1, 3])

    def call(self, x, memory, mask):
        q, k, v = self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory))
        score = tf.matmul(q, k, transpose_b=True) / self.size ** 0.5 + (1.0 - mask) * -1e9
        y = tf.transpose(tf.matmul(tf.nn.softmax(score), v), [0, 2, 1, 3])
        s = tf.shape(y)
        return self.out(tf.reshape(y, [s[0], s[1], self.heads * self.size]))


class Block(layers.Layer):
    def __init__(self, dim, heads, cross=False):
        super().__init__()
        self.attend = Attention(dim, heads)
        self.cross = Attention(dim, heads) if cross else None
        self.up, self.down = layers.Dense(4 * dim, activation="gelu"), layers.Dense(dim)
        self.norms = [layers.LayerNormalization() for _ in range(3 if cross else 2)]

    def call(self, x, mask, memory=None, memory_mask=None):
        h = self.norms[0](x)
        x = x + self.attend(h, h, mask)
        if self.cross is not None:
            x = x + self.cross(self.norms[1](x), memory, memory_mask)
        return x + self.down(self.up(self.norms[-1](x)))
