import keras
from keras import layers


def tagger(vocab=2000, dim=96, tags=9):
    ids = keras.Input((None,), dtype="int32")
    h = layers.Embedding(vocab, dim)(ids)
    for rate in (1, 2, 4):
        g = layers.Conv1D(2 * dim, 5, padding="same", dilation_rate=rate, activation="relu")(h)
        h = layers.LayerNormalization()(h + layers.Dense(dim)(g))
    return keras.Model(ids, layers.Dense(tags)(h))
