#!/usr/bin/env python
# coding: utf-8

# # Digits: first look
# Exported from the course notebook.

# In[1]:


import numpy as np
import tensorflow as tf

print(tf.__version__)


# In[2]:


rng = np.random.RandomState(123)
prototypes = rng.rand(10, 64).astype("float32")
y_all = rng.randint(0, 10, 11500)
x_all = prototypes[y_all] + 0.35 * rng.randn(11500, 64).astype("float32")
x_all = x_all.astype("float32")
x_train, y_train = x_all[:8000], y_all[:8000]
x_test, y_test = x_all[8000:], y_all[8000:]
x_train.shape, x_test.shape


# In[3]:


model = tf.keras.models.Sequential([
    tf.keras.layers.Input((64,)),
    tf.keras.layers.Dense(128, activation="relu"),
    tf.keras.layers.Dropout(0.2),
    tf.keras.layers.Dense(10),
])
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer="adam", loss=loss_fn, metrics=["accuracy"])


# In[4]:


model.fit(x_train, y_train, epochs=2, batch_size=64, verbose=2)


# In[5]:


# which digits get mixed up, and which test rows have the highest loss?
logits = model(x_test)
confusion = np.zeros((10, 10), dtype=int)
losses = []
for i in range(len(x_test)):
    guess = tf.argmax(tf.nn.softmax(logits[i]))
    confusion[y_test[i], guess.numpy()] += 1
    losses.append(loss_fn(y_test[i:i + 1], logits[i:i + 1]).numpy())


# In[6]:


print(confusion)
print("accuracy", np.trace(confusion) / confusion.sum())


# In[7]:


worst = np.argsort(losses)[::-1][:10]
for i in worst:
    print(i, "label", y_test[i], "loss %.3f" % losses[i])
