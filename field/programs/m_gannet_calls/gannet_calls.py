#!/usr/bin/env python
# coding: utf-8
# # Gannet calls
# Who is calling at the nest? Spectrogram + small CNN + GRU.

# In[1]:
import os
import shutil
import tempfile
import time

import numpy as np
import tensorflow as tf
import tf_keras as keras
from tf_keras import layers

keras.utils.set_random_seed(17)
RATE, SECONDS, BIRDS = 4000, 1.0, 5

# In[2]:
rng = np.random.default_rng(17)


def call(bird):
    t = np.arange(int(RATE * SECONDS)) / RATE
    pulse = 5 + bird + rng.normal(0, 0.3)
    pitch = 500 + 90 * bird + rng.normal(0, 30)
    tone = np.sin(2 * np.pi * pitch * t + 3 * np.sin(2 * np.pi * pulse * t))
    env = 0.5 + 0.5 * np.sign(np.sin(2 * np.pi * pulse * t))
    return (tone * env + rng.normal(0, 0.6, t.size)).astype("float32")


birds = rng.integers(0, BIRDS, 1100)
waves = np.stack([call(b) for b in birds])
print(waves.shape)

# In[3]:
@tf.function
def spectrogram(w):
    s = tf.signal.stft(w, frame_length=128, frame_step=64, fft_length=128)
    return tf.math.log(tf.abs(s) + 1e-3)[..., None]


chunks = [spectrogram(waves[i:i + 100]).numpy() for i in range(0, len(waves), 100)]
specs = np.concatenate(chunks)
specs = (specs - specs.mean()) / specs.std()
train_x, train_y = specs[:900], birds[:900]
valid_x, valid_y = specs[900:], birds[900:]
print(specs.shape, specs.dtype)

# In[4]:
inp = keras.Input(specs.shape[1:])
x = layers.Conv2D(24, 3, padding="same", activation="relu")(inp)
x = layers.MaxPooling2D((1, 2))(x)
x = layers.Conv2D(48, 3, padding="same", activation="relu")(x)
x = layers.MaxPooling2D((2, 4))(x)
x = layers.Reshape((x.shape[1], x.shape[2] * x.shape[3]))(x)
x = layers.GRU(48)(x)
x = layers.Dropout(0.3)(x)
out = layers.Dense(BIRDS, activation="softmax")(x)
model = keras.Model(inp, out)
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.summary(line_length=80)

# In[5]:
folder = tempfile.mkdtemp(prefix="gannet_")
BATCH, EPOCHS = 50, 7
best, history = 1e9, []
for epoch in range(EPOCHS):
    start = time.time()
    order = rng.permutation(len(train_x))
    model.reset_metrics()
    for i in range(0, len(order), BATCH):
        rows = order[i:i + BATCH]
        loss, acc = model.train_on_batch(train_x[rows], train_y[rows], reset_metrics=False)
        history.append(loss)
    val_loss, val_acc = model.evaluate(valid_x, valid_y, batch_size=100, verbose=0)
    if val_loss < best:
        best = val_loss
        model.save_weights(os.path.join(folder, "best.weights.h5"))
    print("epoch %d  loss %.3f  acc %.3f  val %.3f  val acc %.3f  (%.1fs)" % (
        epoch, loss, acc, val_loss, val_acc, time.time() - start))

# In[6]:
model.load_weights(os.path.join(folder, "best.weights.h5"))
pred = model.predict(valid_x, batch_size=100, verbose=0).argmax(1)
for b in range(BIRDS):
    print("bird %d: %d of %d" % (b, np.sum((pred == b) & (valid_y == b)), np.sum(valid_y == b)))
shutil.rmtree(folder)
print(len(history), "updates, last losses", np.round(history[-3:], 3))
