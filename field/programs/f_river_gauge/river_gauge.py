#!/usr/bin/env python
# coding: utf-8

# # River gauge: water level six hours ahead
# In[1]:
import numpy as np
import tensorflow as tf

tf.random.set_seed(4)
rng = np.random.default_rng(4)

# In[2]:
hours = 9000
rain = rng.gamma(0.15, 2.0, hours)
level = np.zeros(hours)
for h in range(1, hours):
    level[h] = 0.985 * level[h - 1] + 0.05 * rain[h - 1]
temperature = 10 + 8 * np.sin(2 * np.pi * np.arange(hours) / 8760) + rng.normal(0, 1, hours)
table = np.stack([level, rain, temperature, np.roll(level, 24)], axis=1).astype("float32")
table = (table - table.mean(0)) / table.std(0)
table.shape

# In[3]:
PAST, AHEAD, BATCH = 48, 6, 64


def make_windows(series, shuffle):
    ds = tf.data.Dataset.from_tensor_slices(series)
    ds = ds.window(PAST + AHEAD, shift=1, drop_remainder=True)
    ds = ds.flat_map(lambda w: w.batch(PAST + AHEAD))
    ds = ds.map(lambda w: (w[:PAST], w[-1, 0]))
    if shuffle:
        ds = ds.shuffle(2000, seed=1)
    return ds.batch(BATCH).prefetch(1)


cut = int(0.8 * hours)
train, valid = make_windows(table[:cut], True), make_windows(table[cut:], False)

# In[4]:
net = tf.keras.Sequential([
    tf.keras.layers.Input((PAST, 4)),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(64, activation="relu"),
    tf.keras.layers.Dense(32, activation="relu"),
    tf.keras.layers.Dense(1),
])
net.compile(optimizer="adam", loss="mse")
log = net.fit(train, validation_data=valid, epochs=6, verbose=2)

# In[5]:
print("naive mse", float(np.mean((table[PAST + AHEAD:, 0] - table[PAST:-AHEAD, 0]) ** 2)))
print("network  ", log.history["val_loss"][-1])
