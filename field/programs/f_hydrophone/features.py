"""Log-mel features of hydrophone recordings, written as one .npz per recording.

    python features.py --recordings 12 --seconds 90
"""
import argparse
import pathlib
import tempfile

import numpy as np
import tensorflow as tf

RATE, FRAME, HOP, MELS = 8000, 512, 32, 40


def recording(seconds, rng):
    t = np.arange(seconds * RATE) / RATE
    signal = rng.normal(0, 0.05, t.size)
    for _ in range(seconds // 15):
        centre, pitch = rng.uniform(0, seconds), rng.uniform(200, 2500)
        signal += np.exp(-((t - centre) ** 2) / 0.2) * np.sin(2 * np.pi * pitch * t)
    return signal.astype(np.float32)


class MelFrontEnd(tf.Module):
    def __init__(self):
        super().__init__()
        self.window = tf.signal.hann_window(FRAME)
        self.mel = tf.signal.linear_to_mel_weight_matrix(MELS, FRAME // 2 + 1, RATE, 60.0, 3800.0)

    def spectrum(self, frame):
        power = tf.abs(tf.signal.rfft(frame * self.window)) ** 2
        return tf.math.log(tf.linalg.matvec(self.mel, power, transpose_a=True) + 1e-6)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def __call__(self, signal):
        frames = tf.signal.frame(signal, FRAME, HOP)
        features = tf.map_fn(self.spectrum, frames)
        return features - tf.reduce_mean(features, axis=0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--recordings", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=90)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()

    out = args.out or pathlib.Path(tempfile.mkdtemp(prefix="hydro_"))
    rng = np.random.default_rng(1)
    front = MelFrontEnd()
    for i in range(args.recordings):
        features = front(recording(args.seconds, rng)).numpy()
        np.savez(out / f"rec{i:03d}.npz", features=features)
        print(f"rec{i:03d}: {features.shape[0]} frames, loudest band {int(features.max(0).argmax())}")


if __name__ == "__main__":
    main()
