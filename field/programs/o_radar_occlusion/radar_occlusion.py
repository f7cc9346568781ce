#!/usr/bin/env python
# coding: utf-8

# # Bird or bat? Micro-Doppler signatures
# Classifier + occlusion maps for the figures in the supplement.

# In[1]:

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(77)
rng = np.random.default_rng(77)
N, H, W = 2400, 40, 56
CLASSES = ["bird", "bat", "insect"]


# In[2]:

def signature(k):
    t = np.linspace(0, 1, W)
    f = np.linspace(-1, 1, H)[:, None]
    rate = {0: rng.uniform(3, 6), 1: rng.uniform(8, 12), 2: rng.uniform(18, 25)}[k]
    depth = {0: 0.7, 1: 0.5, 2: 0.2}[k]
    line = depth * np.sin(2 * np.pi * rate * t + rng.uniform(0, 6))[None]
    img = np.exp(-((f - line) / 0.12) ** 2) + 0.6 * np.exp(-(f / 0.08) ** 2)
    return img + 0.35 * rng.standard_normal((H, W))


y = rng.integers(0, 3, N)
X = np.stack([signature(k) for k in y])[..., None].astype("float32")
X_train, y_train, X_test, y_test = X[:2000], y[:2000], X[2000:], y[2000:]
X_train.shape, X_test.shape


# In[3]:

model = keras.Sequential([
    layers.Input((H, W, 1)),
    layers.Conv2D(16, 5, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.GlobalMaxPooling2D(),
    layers.Dropout(0.3),
    layers.Dense(3, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])


# In[4]:

history = model.fit(X_train, y_train, batch_size=50, epochs=4, validation_split=0.1, verbose=2)
loss, acc = model.evaluate(X_test, y_test, verbose=0)
print("test accuracy %.3f" % acc)


# In[5]:

def occlusion_map(img, label, patch=8, stride=6):
    """Drop of the class probability when a patch is replaced by the image mean."""
    rows = range(0, H - patch + 1, stride)
    cols = range(0, W - patch + 1, stride)
    base = model.predict(img[None], verbose=0)[0, label]
    heat = np.zeros((len(rows), len(cols)))
    for i, r in enumerate(rows):
        for j, c in enumerate(cols):
            hidden = img.copy()
            hidden[r:r + patch, c:c + patch] = img.mean()
            heat[i, j] = base - model.predict(hidden[None], verbose=0)[0, label]
    return heat


# In[6]:

pred = model.predict(X_test, verbose=0).argmax(-1)
examples = []
for k in range(3):
    good = np.flatnonzero((y_test == k) & (pred == k))
    bad = np.flatnonzero((y_test == k) & (pred != k))
    examples += list(good[:2]) + list(bad[:1])
examples


# In[7]:

maps = {}
for n in examples:
    maps[n] = occlusion_map(X_test[n], y_test[n])
    r, c = np.unravel_index(maps[n].argmax(), maps[n].shape)
    print("%-6s predicted %-6s  max drop %.3f at (%d, %d)" % (
        CLASSES[y_test[n]], CLASSES[pred[n]], maps[n].max(), r, c))


# In[8]:

mean_map = np.mean([maps[n] / (np.abs(maps[n]).max() + 1e-6) for n in maps], axis=0)
for row in mean_map:
    print(" ".join("%5.2f" % v for v in row))
