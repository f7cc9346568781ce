# expect: nothing
# steps: 150
"""The first epoch is slower than the rest because a cache is being filled: that is what a cache is for."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
signals = rng.normal(size=(400, 2048)).astype(np.float32)
labels = rng.integers(0, 2, size=400)


def spectrum(signal, label):
    frames = tf.abs(tf.signal.stft(signal, 256, 16))
    return tf.reduce_mean(frames, axis=0), label


dataset = (
    tf.data.Dataset.from_tensor_slices((signals, labels))
    .map(spectrum, num_parallel_calls=tf.data.AUTOTUNE)
    .cache()
    .shuffle(400)
    .batch(16)
    .prefetch(tf.data.AUTOTUNE)
)

model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(1024, activation="relu"),
        tf.keras.layers.Dense(1024, activation="relu"),
        tf.keras.layers.Dense(1024, activation="relu"),
        tf.keras.layers.Dense(2),
    ]
)
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(dataset, epochs=6, verbose=0)
print("done")
