#!/usr/bin/env python
# coding: utf-8

# ## Pollen on glass slides
#
# Count the grains on a slide. The scanner's raw format can only be read by our own Python function.

# In[1]:


import os
import tempfile
import zlib

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(44)
SIDE, SLIDES, EPOCHS = 72, 288, 4
folder = tempfile.mkdtemp(prefix="slides")


# In[2]:


def scan(path, rng):
    grains = rng.integers(3, 30)
    y, x = np.mgrid[:SIDE, :SIDE]
    glass = rng.normal(30, 6, (SIDE, SIDE))
    for cy, cx, r in zip(rng.uniform(0, SIDE, grains), rng.uniform(0, SIDE, grains), rng.uniform(1.5, 3, grains)):
        glass += 120 * np.exp(-((y - cy) ** 2 + (x - cx) ** 2) / r ** 2)
    with open(path, "wb") as out:
        out.write(bytes([grains]) + zlib.compress(np.clip(glass, 0, 255).astype(np.uint8).tobytes()))


rng = np.random.default_rng(44)
names = [os.path.join(folder, f"{k:04d}.pol") for k in range(SLIDES)]
for name in names:
    scan(name, rng)


# In[3]:


def read(name):
    with open(name.numpy(), "rb") as source:
        raw = source.read()
    picture = np.frombuffer(zlib.decompress(raw[1:]), np.uint8).reshape(SIDE, SIDE, 1)
    return picture.astype(np.float32) / 255, np.float32(raw[0])


def load(name):
    picture, grains = tf.py_function(read, [name], [tf.float32, tf.float32])
    return tf.ensure_shape(picture, (SIDE, SIDE, 1)), tf.ensure_shape(grains, ())


slides = tf.data.Dataset.from_tensor_slices(names).map(load).cache().shuffle(SLIDES, seed=44).batch(16)


# In[4]:


model = keras.Sequential([keras.layers.Input((SIDE, SIDE, 1))])
for filters in (24, 48, 64):
    model.add(keras.layers.Conv2D(filters, 3, padding="same", activation="relu"))
    model.add(keras.layers.Conv2D(filters, 3, padding="same", activation="relu"))
    model.add(keras.layers.MaxPooling2D())
model.add(keras.layers.GlobalAveragePooling2D())
model.add(keras.layers.Dense(1, activation="softplus"))
model.compile("adam", "mae")
model.fit(slides, epochs=EPOCHS, verbose=2)


# In[5]:


guess = model.predict(slides.take(1), verbose=0)
print("first guesses", guess[:4, 0].round(1))
