"""Marks the stressed syllable positions in made-up words of very different length (bucketed batches)."""
import collections

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

LETTERS = "_abcdefghijklmnopqrstuvwxyz"
VOWELS = np.isin(list(LETTERS), list("aeiou"))
EDGES = [24, 48, 72]
SIZES = [64, 64, 64, 64]


def words(n, seed=21):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        length = int(np.clip(rng.gamma(2.2, 16), 6, 95))
        letters = rng.integers(1, 27, length).astype("int32")
        vowels = np.flatnonzero(VOWELS[letters])
        marks = np.zeros(length, "int32")
        marks[vowels[1::3]] = 1
        yield letters, marks


def batches():
    ds = tf.data.Dataset.from_generator(
        words,
        args=[2400],
        output_signature=(tf.TensorSpec((None,), tf.int32), tf.TensorSpec((None,), tf.int32)),
    ).cache()
    ds = ds.shuffle(2400, seed=2)
    ds = ds.bucket_by_sequence_length(
        lambda letters, marks: tf.shape(letters)[0], EDGES, SIZES, pad_to_bucket_boundary=False,
        drop_remainder=True,
    )
    return ds.map(pad_up).prefetch(2)


def pad_up(letters, marks):
    """To the next multiple of 24, so that few shapes occur."""
    more = -tf.shape(letters)[1] % 24
    spare = [[0, 0], [0, more]]
    return tf.pad(letters, spare), tf.pad(marks, spare)


class Marker:
    def __init__(self):
        self.model = tf.keras.Sequential(
            [
                layers.Embedding(len(LETTERS), 24, mask_zero=False),
                layers.Conv1D(64, 5, padding="same", activation="relu"),
                layers.Bidirectional(layers.GRU(56, return_sequences=True)),
                layers.Dense(2),
            ]
        )
        self.model.build((None, None))
        self.optimizer = tf.keras.optimizers.Adam(3e-3)
        self.shapes = collections.Counter()

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)] * 2)
    def step(self, letters, marks):
        weight = tf.cast(letters > 0, tf.float32)
        with tf.GradientTape() as tape:
            logits = self.model(letters, training=True)
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(marks, logits)
            loss = tf.reduce_sum(loss * weight) / tf.reduce_sum(weight)
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    def train(self, data, epochs):
        history = []
        for epoch in range(epochs):
            for letters, marks in data:
                self.shapes[tuple(letters.shape)] += 1
                history.append(float(self.step(letters, marks)))
            print(f"epoch {epoch + 1}: loss {np.mean(history[-20:]):.4f}")
        print("shapes:", dict(self.shapes))


if __name__ == "__main__":
    tf.keras.utils.set_random_seed(21)
    Marker().train(batches(), epochs=4)
