"""Next-word model on a small artificial corpus, fixed context of five words."""

import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import Dense, Embedding, Flatten, Input
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import to_categorical

np.random.seed(0)
tf.random.set_seed(0)

VOCAB_SIZE = 1800
CONTEXT = 5
CORPUS_LEN = 36_000


def make_corpus():
    # zipf-distributed words with a simple dependency on the previous word
    w = np.random.zipf(1.3, CORPUS_LEN) % VOCAB_SIZE
    w[1::3] = (w[0::3] * 7 + 3)[: len(w[1::3])] % VOCAB_SIZE
    return w


def sequences(words):
    seqs = [words[i - CONTEXT : i + 1] for i in range(CONTEXT, len(words))]
    seqs = np.array(seqs)
    return seqs[:, :-1], seqs[:, -1]


words = make_corpus()
X, y = sequences(words)
y = to_categorical(y, num_classes=VOCAB_SIZE)
print("X", X.shape, "y", y.shape)

model = Sequential(
    [
        Input((CONTEXT,)),
        Embedding(VOCAB_SIZE, 24),
        Flatten(),
        Dense(48, activation="relu"),
        Dense(VOCAB_SIZE, activation="softmax"),
    ]
)
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.summary()
model.fit(X, y, batch_size=256, epochs=2, verbose=2)


def suggest(context, k=5):
    p = model.predict_on_batch(np.array([context]))[0]
    return np.argsort(p)[::-1][:k]


print("after", X[10], "->", suggest(X[10]))
