# expect: python-input
# steps: 80
"""A generator prepares each example with plain Python while the model waits for it."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
texts = [rng.integers(0, 97, size=1200).tolist() for _ in range(320)]
labels = rng.integers(0, 2, size=320)


def features(text):
    counts = [0.0] * 97
    for first, second in zip(text, text[1:]):
        counts[(first * 31 + second * 17) % 97] += 1.0 / (1 + abs(first - second))  # <-- python-input
    return counts


def examples():
    for text, label in zip(texts, labels):
        yield features(text), label


dataset = tf.data.Dataset.from_generator(
    examples,
    output_signature=(tf.TensorSpec((97,), tf.float32), tf.TensorSpec((), tf.int64)),
)
dataset = dataset.batch(16).prefetch(tf.data.AUTOTUNE)

model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(2)])
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(dataset, epochs=4, verbose=0)
print("done")
