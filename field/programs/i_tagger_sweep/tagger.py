"""Character-level part-of-speech style tagger, Keras functional API."""
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers
from tensorflow.keras.utils import to_categorical

VOCAB, TAGS, LENGTH, SENTENCES = 400, 72, 48, 11000


def make_corpus(n, seed=21):
    rng = np.random.default_rng(seed)
    words = rng.zipf(1.3, (n, LENGTH)) % VOCAB
    shifted = np.roll(words, 1, axis=1)
    tags = (words * 3 + (shifted > words) * 17) % TAGS
    return words.astype("int32"), tags.astype("int32")


def build():
    words = layers.Input((LENGTH,), dtype="int32", name="words")
    x = layers.Embedding(VOCAB, 48)(words)
    x = layers.Conv1D(64, 3, padding="causal", activation="relu")(x)
    skip = x
    x = layers.Conv1D(64, 3, padding="causal", activation="relu")(x)
    x = layers.Add()([x, skip])
    out = layers.Dense(TAGS, activation="softmax", name="tags")(x)
    model = tf.keras.Model(words, out)
    model.compile(optimizer=tf.keras.optimizers.AdamW(2e-3),
                  loss="categorical_crossentropy", metrics=["categorical_accuracy"])
    return model


class TagReport(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print("epoch %d: " % (epoch + 1) + ", ".join(f"{k} {v:.3f}" for k, v in sorted(logs.items())))


if __name__ == "__main__":
    tf.keras.utils.set_random_seed(21)
    x, tags = make_corpus(SENTENCES)
    y = to_categorical(tags, TAGS)
    cut = int(0.9 * SENTENCES)
    model = build()
    model.fit(x[:cut], y[:cut], validation_data=(x[cut:], y[cut:]), batch_size=150, epochs=4, verbose=0,
              callbacks=[TagReport(), tf.keras.callbacks.TerminateOnNaN()])
