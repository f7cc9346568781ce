import os

import numpy as np
from tensorflow import keras

from callbacks import HeadlineWatch

VOCAB, LENGTH, TOPICS = 20000, 60, 12


def make_corpus(n, seed=3):
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, TOPICS, n)
    centre = topic[:, None] * (VOCAB // TOPICS)
    tokens = (centre + rng.integers(0, VOCAB // TOPICS * 2, (n, LENGTH))) % VOCAB
    return tokens.astype("int32"), topic.astype("int32")


def make_model():
    inp = keras.Input((LENGTH,), dtype="int32")
    h = keras.layers.Embedding(VOCAB, 64)(inp)
    h = keras.layers.Conv1D(64, 5, activation="relu")(h)
    h = keras.layers.GlobalMaxPooling1D()(h)
    h = keras.layers.Dropout(0.3)(h)
    out = keras.layers.Dense(TOPICS, activation="softmax")(h)
    model = keras.Model(inp, out)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def main():
    keras.utils.set_random_seed(7)
    x, y = make_corpus(2240)
    os.makedirs("out", exist_ok=True)
    model = make_model()
    watch = HeadlineWatch(x[:4], ["politics", "sports", "finance", "weather"])
    backup = keras.callbacks.ModelCheckpoint("out/tagger.keras", save_freq=1)
    model.fit(x, y, batch_size=64, epochs=2, callbacks=[watch, backup], verbose=2)
    print(model.evaluate(x, y, batch_size=256, verbose=0))


if __name__ == "__main__":
    main()
