# expect: python-input
# steps: 100
"""A generator computes the same spectra in every epoch, each time in another order."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
signals = rng.normal(size=(320, 4000)).astype(np.float32)
labels = rng.integers(0, 4, size=320)
window = np.hanning(256).astype(np.float32)


def spectra(signal):
    frames = []
    for start in range(0, len(signal) - 256, 80):
        frames.append(np.abs(np.fft.rfft(signal[start : start + 256] * window)))  # <-- python-input
    return np.log1p(np.asarray(frames, np.float32))


def examples():
    for index in np.random.permutation(320):
        yield spectra(signals[index]), labels[index]


dataset = tf.data.Dataset.from_generator(
    examples,
    output_signature=(tf.TensorSpec((47, 129), tf.float32), tf.TensorSpec((), tf.int64)),
)
dataset = dataset.batch(16).prefetch(tf.data.AUTOTUNE)

model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(4)])
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(dataset, epochs=5, verbose=0)
print("done")
