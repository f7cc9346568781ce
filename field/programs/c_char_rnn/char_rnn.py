import random
import sys

import numpy as np
import tensorflow as tf
from tensorflow import keras

TEXT = ("the quick brown fox jumps over the lazy dog while seven wizards "
        "quietly mix boxing gloves with jugs of liquid and a sphinx of quartz judges. ") * 30

chars = sorted(set(TEXT))
stoi = {c: i for i, c in enumerate(chars)}
itos = {i: c for c, i in stoi.items()}
SEQ = 40

ids = np.array([stoi[c] for c in TEXT], np.int32)
starts = np.arange(0, len(ids) - SEQ - 1, 3)
X = np.stack([ids[s:s + SEQ] for s in starts])
Y = np.stack([ids[s + 1:s + SEQ + 1] for s in starts])

model = keras.Sequential([
    keras.Input((None,), dtype="int32"),
    keras.layers.Embedding(len(chars), 16),
    keras.layers.GRU(48, return_sequences=True),
    keras.layers.Dense(len(chars)),
])
model.compile(keras.optimizers.Adam(5e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def sample(logits, temperature=0.8):
    z = logits.astype("float64") / temperature
    p = np.exp(z - z.max())
    return int(np.random.choice(len(p), p=p / p.sum()))


def generate(prompt, n):
    out = [stoi[c] for c in prompt]
    for _ in range(n):
        logits = model.predict(np.array([out]), verbose=0)[0, -1]
        out.append(sample(logits))
    return "".join(itos[i] for i in out)


class Talk(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        start = random.randrange(len(TEXT) - 10)
        sys.stdout.write("--- epoch %d: %r\n" % (epoch, generate(TEXT[start:start + 10], 45)))


if __name__ == "__main__":
    model.fit(X, Y, batch_size=64, epochs=3, verbose=2, callbacks=[Talk()])
