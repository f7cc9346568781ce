import os

import numpy as np
import tensorflow as tf

RATE, SECONDS = 8000, 1
SPECIES = ["wren", "robin", "finch", "crow"]


def record(folder, n, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(RATE * SECONDS) / RATE
    files, labels = [], []
    for i in range(n):
        k = int(rng.integers(len(SPECIES)))
        wave = np.sin(2 * np.pi * (600 + 500 * k + 200 * np.sin(9 * t)) * t) * 0.5 + 0.1 * rng.normal(size=t.size)
        path = os.path.join(folder, f"{SPECIES[k]}_{i:04d}.wav")
        tf.io.write_file(path, tf.audio.encode_wav(wave[:, None].astype("float32"), RATE))
        files.append(path)
        labels.append(k)
    return files, labels


def spectrogram(path, label):
    wave, _ = tf.audio.decode_wav(tf.io.read_file(path), desired_channels=1, desired_samples=RATE * SECONDS)
    spec = tf.abs(tf.signal.stft(wave[:, 0], frame_length=256, frame_step=128))
    return tf.math.log(spec + 1e-3)[..., None], label


def jitter(spec, label):
    return spec + tf.random.normal(tf.shape(spec), stddev=0.05), label
