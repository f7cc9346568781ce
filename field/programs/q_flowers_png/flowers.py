# coding: utf-8
# # Transfer learning on a small picture collection
# (exported from flowers.ipynb)

# In[1]:
import os
import pathlib
import tempfile

import numpy as np
import tensorflow as tf

AUTO = tf.data.AUTOTUNE
IMG = 48
BATCH = 32
EPOCHS = 16
CLASSES = ["daisy", "dandelion", "rose", "tulip"]
tf.keras.utils.set_random_seed(7)

# In[2]: stand-in for the download: write the collection as PNG files
root = pathlib.Path(tempfile.mkdtemp(prefix="flowers_"))
rng = np.random.default_rng(0)


def draw(label):
    side = 320
    yy, xx = np.mgrid[0:side, 0:side] / side
    f = 6 + 7 * label + rng.uniform(-1, 1)
    wave = 0.5 + 0.5 * np.sin(f * (xx * np.cos(label) + yy * np.sin(label)) + rng.uniform(0, 6))
    img = np.stack([wave, wave ** 2, 1 - wave], -1) * 200 + rng.integers(0, 55, (side, side, 3))
    return img.astype(np.uint8)


for i in range(320):
    lab = i % len(CLASSES)
    d = root / CLASSES[lab]
    d.mkdir(exist_ok=True)
    (d / ("%04d.png" % i)).write_bytes(tf.io.encode_png(draw(lab), compression=1).numpy())

# In[3]:
files = sorted(str(p) for p in root.glob("*/*.png"))
labels = [CLASSES.index(pathlib.Path(f).parent.name) for f in files]
perm = np.random.default_rng(1).permutation(len(files))
files = [files[i] for i in perm]
labels = [labels[i] for i in perm]
n_val = 64


def load(path, label):
    img = tf.io.decode_png(tf.io.read_file(path), channels=3)
    img = tf.image.resize(img, (IMG, IMG), antialias=True) / 255.0
    return img, label


def augment(img, label):
    img = tf.image.random_flip_left_right(img)
    img = tf.image.random_brightness(img, 0.1)
    return img, label


train = (tf.data.Dataset.from_tensor_slices((files[n_val:], labels[n_val:]))
         .map(load, num_parallel_calls=AUTO)
         .shuffle(256)
         .map(augment, num_parallel_calls=AUTO)
         .batch(BATCH)
         .prefetch(AUTO))
val = (tf.data.Dataset.from_tensor_slices((files[:n_val], labels[:n_val]))
       .map(load, num_parallel_calls=AUTO)
       .batch(BATCH)
       .cache()
       .prefetch(AUTO))

# In[4]:
model = tf.keras.Sequential([
    tf.keras.layers.Input((IMG, IMG, 3)),
    tf.keras.layers.Conv2D(12, 3, strides=2, activation="relu"),
    tf.keras.layers.Conv2D(24, 3, strides=2, activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dropout(0.1),
    tf.keras.layers.Dense(len(CLASSES)),
])
model.compile(optimizer=tf.keras.optimizers.Adam(3e-3),
              loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              metrics=["accuracy"])
model.summary(print_fn=lambda s: None)

# In[5]:
hist = model.fit(train, validation_data=val, epochs=EPOCHS, verbose=2)

# In[6]:
print("best val accuracy %.3f" % max(hist.history["val_accuracy"]))
print("optimizer steps:", int(model.optimizer.iterations))

# In[7]:
for f in files:
    os.remove(f)
