# Character level language model: train on a small corpus, then write some text with it.
import numpy as np
import tensorflow as tf
from tensorflow import keras

SEQ_LEN = 48
BATCH = 64
STEPS = 60
GENERATE = 60
TEMPERATURE = 0.8

words = "the of and sea ship whale captain storm harbour night lantern rope deck wind sail mast old man boat".split()
rng = np.random.default_rng(42)
corpus = " ".join(rng.choice(words, 6000)) + "\n"
chars = sorted(set(corpus))
char_to_id = {c: i for i, c in enumerate(chars)}
encoded = np.array([char_to_id[c] for c in corpus], dtype=np.int32)
print("corpus", len(corpus), "chars, vocabulary", len(chars))

windows = np.lib.stride_tricks.sliding_window_view(encoded, SEQ_LEN + 1)[::7]
dataset = (
    tf.data.Dataset.from_tensor_slices((windows[:, :-1], windows[:, -1]))
    .shuffle(len(windows))
    .repeat()
    .batch(BATCH, drop_remainder=True)
    .prefetch(2)
)

model = keras.Sequential(
    [
        keras.layers.Embedding(len(chars), 32),
        keras.layers.GRU(96),
        keras.layers.Dense(len(chars)),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(3e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
model.fit(dataset, steps_per_epoch=STEPS, epochs=1, verbose=2)


def sample(logits, temperature):
    return int(tf.random.categorical(logits / temperature, 1)[0, 0])


def generate(seed_text, length):
    text = seed_text
    for _ in range(length):
        window = text[-SEQ_LEN:].rjust(SEQ_LEN)
        x = np.array([[char_to_id[c] for c in window]], dtype=np.int32)
        logits = model(x, training=False)
        text += chars[sample(logits, TEMPERATURE)]
    return text


print(generate("the old man and the sea ", GENERATE))
