# coding: utf-8
# Leaf disease classifier (notebook export)

# In[1]:


import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras

IMG = 176
CLASSES = ["healthy", "rust", "blight", "mildew"]
N_PER_CLASS = 110


# In[2]:


def fake_download(root):
    rng = np.random.default_rng(1)
    for c, name in enumerate(CLASSES):
        os.makedirs(os.path.join(root, name))
        for i in range(N_PER_CLASS):
            img = np.full((IMG, IMG, 3), (40 + 30 * c, 120, 50), np.uint8)
            for _ in range(6):
                y, x = rng.integers(0, IMG - 30, 2)
                img[y : y + 30, x : x + 30] = rng.integers(0, 255, 3)
            tf.io.write_file(
                os.path.join(root, name, f"{i:04d}.jpg"), tf.io.encode_jpeg(img, quality=85)
            )
    return root


DATA = fake_download(tempfile.mkdtemp(prefix="leaf_"))


# In[3]:


images = []
labels = []
for idx, name in enumerate(CLASSES):
    folder = os.path.join(DATA, name)
    for fn in sorted(os.listdir(folder)):
        img = keras.utils.load_img(os.path.join(folder, fn), target_size=(IMG, IMG))
        arr = keras.utils.img_to_array(img, dtype="float64")
        images.append(arr)
        labels.append(idx)
print(len(images), "images")


# In[4]:


X = np.array(images)
X = X / 255.0
y = np.array(labels)

perm = np.random.RandomState(0).permutation(len(X))
X, y = X[perm], y[perm]
split = int(0.85 * len(X))
X_train, X_val = X[:split], X[split:]
y_train, y_val = y[:split], y[split:]
print(X_train.shape, X_val.shape)


# In[5]:


model = keras.Sequential(
    [
        keras.layers.Input(shape=(IMG, IMG, 3)),
        keras.layers.Conv2D(8, 5, strides=4, activation="relu"),
        keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(len(CLASSES), activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])


# In[6]:


history = model.fit(
    X_train, y_train, epochs=4, batch_size=16, validation_data=(X_val, y_val), verbose=2
)


# In[7]:


print("val accuracy", history.history["val_accuracy"][-1])
