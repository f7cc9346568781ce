"""Matrix factorisation with biases for implicit feedback."""
import numpy as np
import tensorflow as tf
from tensorflow import keras

N_USERS = 260_000
N_ITEMS = 80_000
DIM = 48
BATCH = 512
STEPS = 55


class Factors(keras.Model):
    def __init__(self, n_users, n_items, dim):
        super().__init__()
        self.user = keras.layers.Embedding(n_users, dim, name="user")
        self.item = keras.layers.Embedding(n_items, dim, name="item")
        self.item_bias = keras.layers.Embedding(n_items, 1, name="item_bias")

    def call(self, inputs):
        u, i = inputs[:, 0], inputs[:, 1]
        dot = tf.reduce_sum(self.user(u) * self.item(i), axis=1, keepdims=True)
        return dot + self.item_bias(i)


def interactions(n, rng):
    users = rng.integers(0, N_USERS, n)
    pos = (users * 31 + rng.integers(0, 50, n)) % N_ITEMS
    neg = rng.integers(0, N_ITEMS, n)
    take = rng.random(n) < 0.5
    items = np.where(take, pos, neg)
    return np.stack([users, items], 1).astype("int32"), take.astype("float32")


def main():
    keras.utils.set_random_seed(77)
    rng = np.random.default_rng(77)
    x, y = interactions(BATCH * STEPS, rng)
    model = Factors(N_USERS, N_ITEMS, DIM)
    model.compile(
        optimizer=keras.optimizers.Adam(0.01),
        loss=keras.losses.BinaryCrossentropy(from_logits=True),
        metrics=[keras.metrics.BinaryAccuracy(threshold=0.0)],
    )
    model.fit(x, y, batch_size=BATCH, epochs=1, verbose=2)


if __name__ == "__main__":
    main()
