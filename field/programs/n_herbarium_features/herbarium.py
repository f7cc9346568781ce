#!/usr/bin/env python
# coding: utf-8

# # Pressed leaves: frozen backbone + linear probe

# In[1]:
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

print(tf.__version__)
SIZE = 96
N_SPECIES = 12
N_TRAIN, N_VALID = 640, 160
keras.utils.set_random_seed(3)


# In[2]:
def leaf(rng, species):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE] / SIZE - 0.5
    lobes = 2 + species % 6
    angle = np.arctan2(yy, xx) + rng.uniform(0, 2 * np.pi)
    edge = 0.25 + 0.12 * np.cos(lobes * angle) * (0.5 + species / N_SPECIES)
    mask = (np.hypot(yy, xx) < edge)[..., None]
    color = np.array([60 + 8 * species, 140 - 5 * species, 50])
    img = np.where(mask, color, 235) + rng.normal(0, 30, (SIZE, SIZE, 3))
    return np.clip(img, 0, 255).astype("uint8")


def sheet(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, N_SPECIES, n)
    x = np.stack([leaf(rng, s) for s in y])
    return x, y


x_train, y_train = sheet(N_TRAIN, 0)
x_valid, y_valid = sheet(N_VALID, 1)
print(x_train.shape, x_train.dtype, np.bincount(y_train))


# In[3]:
def conv(filters):
    return layers.Conv2D(filters, 3, padding="same", activation="relu", kernel_initializer="he_normal")


backbone = keras.Sequential([
    layers.Input(shape=(SIZE, SIZE, 3)),
    conv(24), conv(24), layers.MaxPooling2D(),
    conv(48), conv(48), layers.MaxPooling2D(),
    conv(96), conv(96), layers.MaxPooling2D(),
    conv(160), layers.GlobalAveragePooling2D(),
], name="backbone")
backbone.trainable = False
print("backbone parameters:", backbone.count_params())


# In[4]:
def prep(images):
    return images.astype("float32") / 127.5 - 1.0


f_train = backbone(prep(x_train), training=False).numpy()
f_valid = backbone(prep(x_valid), training=False).numpy()
print("features:", f_train.shape, f_valid.shape)


# In[5]:
mu, sd = f_train.mean(0), f_train.std(0) + 1e-6
f_train = (f_train - mu) / sd
f_valid = (f_valid - mu) / sd

probe = keras.Sequential([
    layers.Input(shape=(f_train.shape[1],)),
    layers.Dropout(0.2),
    layers.Dense(N_SPECIES, activation="softmax"),
])
probe.compile(optimizer=keras.optimizers.Adam(1e-2),
              loss="sparse_categorical_crossentropy", metrics=["accuracy"])
hist = probe.fit(f_train, y_train, validation_data=(f_valid, y_valid),
                 epochs=40, batch_size=64, verbose=0)
for e in range(0, 40, 8):
    print("epoch %2d  loss %.4f  val_acc %.3f" % (e + 1, hist.history["loss"][e], hist.history["val_accuracy"][e]))


# In[6]:
pred = probe.predict(f_valid, verbose=0).argmax(1)
cm = np.zeros((N_SPECIES, N_SPECIES), int)
np.add.at(cm, (y_valid, pred), 1)
print("accuracy", (pred == y_valid).mean())
print(cm)
