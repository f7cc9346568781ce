import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf

USERS, ITEMS, DIM = 4000, 2500, 16
N = 120_000

rng = np.random.default_rng(99)
user = rng.integers(0, USERS, N).astype(np.int32)
item = rng.integers(0, ITEMS, N).astype(np.int32)
rating = ((user * 7 + item * 3) % 5).astype(np.float32)

u_in = tf.keras.Input((), dtype=tf.int32, name="user")
i_in = tf.keras.Input((), dtype=tf.int32, name="item")
u = tf.keras.layers.Embedding(USERS, DIM)(u_in)
i = tf.keras.layers.Embedding(ITEMS, DIM)(i_in)
h = tf.keras.layers.Concatenate()([u, i, u * i])
for units in (256, 128):
    h = tf.keras.layers.Dense(units, activation="relu")(h)
out = tf.keras.layers.Dense(1)(h)
model = tf.keras.Model([u_in, i_in], out)
model.compile(optimizer=tf.keras.optimizers.Adam(2e-3), loss="mse")
model.fit([user, item], rating, batch_size=2048, epochs=4, validation_split=0.1, verbose=2)
