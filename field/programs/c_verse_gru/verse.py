"""Character model with a one-step sampler that carries its state."""
import argparse

import numpy as np
import tensorflow as tf

LINES = ["the moon is a silver coin", "the river hums an old tune", "a lamp burns in the window",
         "the wind turns every page", "snow falls without a word"] * 160


def encode(lines):
    text = "\n".join(lines)
    vocab = sorted(set(text))
    table = {c: i for i, c in enumerate(vocab)}
    return np.array([table[c] for c in text], np.int32), vocab


class VerseModel(tf.keras.Model):
    def __init__(self, vocab, units):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(vocab, 24)
        self.gru = tf.keras.layers.GRU(units, return_sequences=True, return_state=True)
        self.dense = tf.keras.layers.Dense(vocab)

    def call(self, ids, state=None, return_state=False, training=False):
        x, state = self.gru(self.embedding(ids), initial_state=state, training=training)
        x = self.dense(x)
        return (x, state) if return_state else x


class OneStep(tf.Module):
    def __init__(self, model, units, temperature=0.7):
        super().__init__()
        self.model, self.units, self.temperature = model, units, temperature

    @tf.function(input_signature=[tf.TensorSpec([None, 1], tf.int32), tf.TensorSpec([None, None])])
    def next_char(self, ids, state):
        logits, state = self.model(ids, state=state, return_state=True)
        ids = tf.random.categorical(logits[:, -1] / self.temperature, 1, dtype=tf.int32)
        return ids, state

    def write(self, first, n):
        ids, state, out = tf.constant([[first]]), tf.zeros([1, self.units]), [first]
        for _ in range(n):
            ids, state = self.next_char(ids, state)
            out.append(int(ids[0, 0]))
        return out


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--units", type=int, default=96)
    args = ap.parse_args()
    ids, vocab = encode(LINES)
    n = (len(ids) - 1) // 50
    x, y = ids[:n * 50].reshape(n, 50), ids[1:n * 50 + 1].reshape(n, 50)
    model = VerseModel(len(vocab), args.units)
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    sampler = OneStep(model, args.units)
    talk = tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda e, logs: print(
        "".join(vocab[i] for i in sampler.write(int(ids[e]), 80)).replace("\n", " / ")))
    model.fit(x, y, batch_size=32, epochs=args.epochs, verbose=2, callbacks=[talk])


if __name__ == "__main__":
    main()
