from . import settings as s

import tensorflow as tf

L = tf.keras.layers


def build():
    query = tf.keras.Input((s.QUERY_LEN,), dtype="int32", name="query")
    doc = tf.keras.Input((s.DOC_LEN,), dtype="int32", name="doc")
    emb = L.Embedding(s.TERMS, 48)
    enc = L.LSTM(32)
    q, d = enc(emb(query)), enc(emb(doc))
    h = L.Concatenate()([q, d, q * d])
    h = L.Dense(64, activation="relu")(h)
    out = L.Dense(1, activation="sigmoid")(h)
    model = tf.keras.Model([query, doc], out)
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model
