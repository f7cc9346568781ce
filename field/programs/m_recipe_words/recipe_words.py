#!/usr/bin/env python
# coding: utf-8

# # Next word of a recipe
# Week 9 homework. Predict the next word from the last 6.

# In[1]:


import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(9)


# In[2]:


VERBS = ["chop", "boil", "stir", "fold", "bake", "fry", "grate", "whisk", "drain", "season"]
SYL = ["ba", "ko", "ri", "mu", "le", "sha", "to", "ni", "pe", "du", "ga", "wo", "zi", "fa"]
rng = np.random.default_rng(9)

nouns = ["".join(rng.choice(SYL, rng.integers(2, 5))) for _ in range(5200)]
nouns = sorted(set(nouns))
weights = 1.0 / np.arange(1, len(nouns) + 1)
weights /= weights.sum()


def write_recipe():
    words = []
    for _ in range(rng.integers(5, 12)):
        a, b = rng.choice(len(nouns), 2, p=weights)
        words += [VERBS[(a + b) % len(VERBS)], "the", nouns[a], "with", nouns[b], "then"]
    return words


corpus = [write_recipe() for _ in range(1100)]
print(len(corpus), "recipes, for example:", " ".join(corpus[0][:14]))


# In[3]:


vocab = {"<pad>": 0}
for recipe in corpus:
    for w in recipe:
        vocab.setdefault(w, len(vocab))
print("vocabulary:", len(vocab))


# In[4]:


CONTEXT = 6
X, nxt = [], []
for recipe in corpus:
    ids = [0] * CONTEXT + [vocab[w] for w in recipe]
    for i in range(CONTEXT, len(ids)):
        X.append(ids[i - CONTEXT:i])
        nxt.append(ids[i])
X = np.array(X, dtype="int32")
y = keras.utils.to_categorical(nxt, num_classes=len(vocab))
print(X.shape, y.shape)


# In[5]:


perm = rng.permutation(len(X))
n_val = len(X) // 10
X_train, y_train = X[perm[n_val:]], y[perm[n_val:]]
X_val, y_val = X[perm[:n_val]], y[perm[:n_val]]


# In[6]:


model = keras.Sequential([
    layers.Input((CONTEXT,)),
    layers.Embedding(len(vocab), 24),
    layers.GRU(48),
    layers.Dense(len(vocab), activation="softmax"),
])
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.summary()


# In[7]:


history = model.fit(X_train, y_train, validation_data=(X_val, y_val), batch_size=512, epochs=2, verbose=2)


# In[8]:


inverse = {i: w for w, i in vocab.items()}
seed = X_val[:5]
probs = model.predict(seed, verbose=0)
for row, p in zip(seed, probs):
    print(" ".join(inverse[i] for i in row), "->", [inverse[i] for i in np.argsort(-p)[:3]])


# In[9]:


print("perplexity %.1f" % np.exp(history.history["val_loss"][-1]))
