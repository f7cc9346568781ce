# coding: utf-8

# In[1]:

import os
import tempfile

import numpy as np
import tensorflow as tf

# In[2]:

# the real bank is 60 GB, so it is memory mapped and goes through the network in slices
ROWS, WIDTH, SLICE = 48000, 256, 8000
bank_path = os.path.join(tempfile.mkdtemp(prefix="bank_"), "bank.npy")
bank = np.lib.format.open_memmap(bank_path, mode="w+", dtype=np.float16, shape=(ROWS, WIDTH))
rng = np.random.default_rng(55)
bank[:] = rng.standard_normal((ROWS, WIDTH), dtype=np.float32)

# In[3]:

encoder = tf.keras.Sequential([
    tf.keras.layers.Input((WIDTH,)),
    tf.keras.layers.Dense(1536, activation="gelu"),
    tf.keras.layers.Dense(1536, activation="gelu"),
    tf.keras.layers.Dense(128),
    tf.keras.layers.UnitNormalization(),
])
encoder.summary()

# In[4]:

out_path = bank_path.replace("bank.npy", "embedded.npy")
embedded = np.lib.format.open_memmap(out_path, mode="w+", dtype=np.float32, shape=(ROWS, 128))
for start in range(0, ROWS, SLICE):
    part = bank[start:start + SLICE].astype(np.float32)
    embedded[start:start + SLICE] = encoder.predict(part, batch_size=500, verbose=0)
    print("rows", start, "to", start + len(part))
embedded.flush()

# In[5]:

# sanity check: nearest neighbour of a few rows
query = embedded[:5]
similarity = query @ embedded.T
for i, row in enumerate(similarity):
    row[i] = -1
    print(i, "->", int(row.argmax()), "%.3f" % row.max())
