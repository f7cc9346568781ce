#!/usr/bin/env python
# coding: utf-8

# # Which stop comes next?
#
# Ticket logs of a tram company. A row is a ride: the card, the last eight stops it was seen at, and the stop that followed.

# In[1]:


import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(31)


# Stops are known by the six digits on their poles, cards by their chip numbers.

# In[2]:


rng = np.random.default_rng(31)
poles = np.sort(rng.choice(np.arange(100_000, 700_000), 420, replace=False))
cards = rng.choice(400_000, 1500, replace=False)

RIDES, SEEN = 7680, 8
line = rng.integers(0, 12, len(cards))
who = rng.integers(0, len(cards), RIDES)
start = rng.integers(0, 35, RIDES)
path = (line[who, None] * 35 + (start[:, None] + np.arange(SEEN + 1)) % 35) % 420
noise = rng.random(path.shape) < 0.1
path[noise] = rng.integers(0, 420, noise.sum())

rides = {"card": cards[who], "seen": poles[path[:, :-1]]}
following = path[:, -1]
print(rides["seen"][:2], following[:2])


# In[3]:


def numbers(column):
    """Rows that a column's table needs."""
    return int(column.max()) + 1


def branch(name, column, width):
    entry = layers.Input(column.shape[1:], name=name, dtype="int32")
    return entry, layers.Embedding(numbers(column), width, name=f"{name}_table")(entry)


card_in, card = branch("card", rides["card"], 8)
seen_in, seen = branch("seen", rides["seen"], 24)


# In[4]:


x = layers.GRU(48)(seen)
x = layers.Concatenate()([x, layers.Flatten()(card)])
x = layers.Dense(96, activation="relu")(x)
model = keras.Model({"card": card_in, "seen": seen_in}, layers.Dense(len(poles))(x))
model.compile(
    optimizer=keras.optimizers.Adam(3e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)


# In[5]:


data = (
    tf.data.Dataset.from_tensor_slices(({k: v.astype("int32") for k, v in rides.items()}, following))
    .shuffle(RIDES, seed=31)
    .batch(128)
    .prefetch(tf.data.AUTOTUNE)
)
history = model.fit(data, epochs=2, verbose=2)


# In[6]:


print("loss by epoch:", [round(v, 4) for v in history.history["loss"]])
