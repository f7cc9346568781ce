# Keyword spotting on synthetic utterances: log-mel features, small conv net.
from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from tensorflow import keras


@dataclass
class Settings:
    rate: int = 8000
    seconds: float = 0.8
    frame: int = 256
    hop: int = 100
    mels: int = 32
    words: int = 8
    clips: int = 1200
    batch: int = 32
    epochs: int = 5


S = Settings()


def synthesize(rng, word):
    n = int(S.rate * S.seconds)
    t = np.arange(n) / S.rate
    f0 = 180 + 110 * word
    sweep = 1 + 0.3 * np.sin(2 * np.pi * (1 + word % 3) * t + rng.uniform(0, 6))
    wave = np.sin(2 * np.pi * f0 * sweep * t) + 0.4 * np.sin(4 * np.pi * f0 * t)
    return (wave * np.hanning(n) + rng.normal(0, 0.2, n)).astype(np.float32)


def mel_matrix():
    bins = S.frame // 2 + 1
    hz = np.linspace(0, S.rate / 2, bins)
    to_mel = lambda f: 2595 * np.log10(1 + f / 700)
    edges = np.linspace(0, to_mel(S.rate / 2), S.mels + 2)
    m = to_mel(hz)
    bank = np.zeros((bins, S.mels), np.float32)
    for i in range(S.mels):
        up = (m - edges[i]) / (edges[i + 1] - edges[i])
        down = (edges[i + 2] - m) / (edges[i + 2] - edges[i + 1])
        bank[:, i] = np.clip(np.minimum(up, down), 0, None)
    return bank


class Corpus:
    def __init__(self):
        rng = np.random.default_rng(9)
        self.labels = rng.integers(0, S.words, S.clips)
        self.waves = [synthesize(rng, w) for w in self.labels]
        self.bank = mel_matrix()
        self.window = np.hanning(S.frame).astype(np.float32)

    def log_mel(self, wave):
        rows = []
        for start in range(0, len(wave) - S.frame + 1, S.hop):
            spectrum = np.abs(np.fft.rfft(wave[start:start + S.frame] * self.window)) ** 2
            rows.append(np.log(spectrum @ self.bank + 1e-6))
        return np.asarray(rows, np.float32)

    def examples(self):
        order = np.random.permutation(S.clips)
        for i in order:
            feats = self.log_mel(self.waves[i])
            feats = (feats - feats.mean()) / (feats.std() + 1e-5)
            yield feats[..., None], self.labels[i]

    def dataset(self):
        frames = 1 + (int(S.rate * S.seconds) - S.frame) // S.hop
        spec = (tf.TensorSpec((frames, S.mels, 1), tf.float32), tf.TensorSpec((), tf.int64))
        ds = tf.data.Dataset.from_generator(self.examples, output_signature=spec)
        return ds.batch(S.batch).prefetch(tf.data.AUTOTUNE), frames


corpus = Corpus()
train, frames = corpus.dataset()

model = keras.Sequential([
    keras.Input((frames, S.mels, 1)),
    keras.layers.Conv2D(12, 3, strides=2, activation="relu"),
    keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
    keras.layers.GlobalMaxPooling2D(),
    keras.layers.Dense(S.words),
])
model.compile(keras.optimizers.Adam(3e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(train, epochs=S.epochs, verbose=2)
