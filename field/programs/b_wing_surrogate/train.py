"""Surrogate of a panel code: lift/drag/moment from 96 section parameters."""
import numpy as np
import tensorflow as tf

# settings shared with the cluster jobs
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
tf.keras.utils.set_random_seed(17)

N, P = 8192, 96
rng = np.random.default_rng(17)
shape = rng.uniform(-1, 1, (N, P)).astype("float32")
coef = np.stack(
    [np.sin(shape[:, :32]).sum(1), (shape[:, 32:64] ** 2).sum(1), shape[:, 64:].prod(1)], axis=1
).astype("float32")


class Residual(tf.keras.layers.Layer):
    def __init__(self, width, **kw):
        super().__init__(**kw)
        self.a = tf.keras.layers.Dense(width, activation="gelu")
        self.b = tf.keras.layers.Dense(width)
        self.norm = tf.keras.layers.LayerNormalization()

    def call(self, x):
        return self.norm(x + self.b(self.a(x)))


inp = tf.keras.Input((P,))
h = tf.keras.layers.Dense(768)(inp)
for _ in range(4):
    h = Residual(768)(h)
model = tf.keras.Model(inp, tf.keras.layers.Dense(3)(h))
model.compile(tf.keras.optimizers.Adam(3e-4), "mse")
model.fit(shape, coef, batch_size=1024, epochs=3, verbose=2)
