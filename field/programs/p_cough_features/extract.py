"""Log-mel, delta and spectral statistics for a corpus of cough recordings -> one .npz.

usage: extract.py [-n CLIPS] [-o OUT]
"""
import argparse
import os
import sys
import tempfile
import wave

import numpy as np
import tensorflow as tf

SR = 16000
FRAME, HOP, FFT, MELS = 400, 160, 512, 40


def record_clips(folder, n, seed=2):
    rng = np.random.default_rng(seed)
    names = []
    for i in range(n):
        secs = rng.uniform(1.5, 2.5)
        t = np.arange(int(SR * secs)) / SR
        env = sum(np.exp(-((t - c) / 0.08) ** 2) for c in rng.uniform(0.2, secs - 0.2, 3))
        sig = env * (rng.standard_normal(len(t)) * 0.5 + np.sin(2 * np.pi * rng.uniform(200, 700) * t))
        pcm = np.int16(np.clip(sig * 9000, -32768, 32767))
        name = os.path.join(folder, "cough%04d.wav" % i)
        with wave.open(name, "wb") as w:
            w.setnchannels(1)
            w.setsampwidth(2)
            w.setframerate(SR)
            w.writeframes(pcm.tobytes())
        names.append(name)
    return names


class Extractor:
    def __init__(self):
        self.mel = tf.signal.linear_to_mel_weight_matrix(MELS, FFT // 2 + 1, SR, 60.0, 7600.0)
        self.window = tf.signal.hann_window(FRAME)
        self.freqs = tf.linspace(0.0, SR / 2.0, FFT // 2 + 1)

    def read(self, name):
        audio, rate = tf.audio.decode_wav(tf.io.read_file(name), desired_channels=1)
        assert int(rate) == SR, name
        audio = tf.squeeze(audio, -1)
        return audio / (tf.reduce_max(tf.abs(audio)) + 1e-9)

    def spectrum(self, frame):
        return tf.abs(tf.signal.rfft(frame * self.window, [FFT])) ** 2

    def describe(self, power):
        mel = tf.tensordot(power, self.mel, 1)
        logmel = tf.math.log(mel + 1e-6)
        total = tf.reduce_sum(power, -1) + 1e-9
        centroid = tf.reduce_sum(power * self.freqs, -1) / total
        spread = tf.sqrt(tf.reduce_sum(power * tf.square(self.freqs - centroid[..., None]), -1) / total)
        flat = tf.exp(tf.reduce_mean(tf.math.log(power + 1e-9), -1)) / (tf.reduce_mean(power, -1) + 1e-9)
        return tf.concat([logmel, tf.stack([centroid / SR, spread / SR, flat], -1)], -1)

    def features(self, audio):
        frames = []
        for start in range(0, len(audio) - FRAME + 1, HOP):
            power = self.spectrum(audio[start:start + FRAME])
            frames.append(self.describe(power))
        return tf.stack(frames)

    def pool(self, feats):
        delta = feats[2:] - feats[:-2]
        parts = [tf.reduce_mean(feats, 0), tf.math.reduce_std(feats, 0), tf.reduce_max(feats, 0),
                 tf.reduce_mean(delta, 0), tf.math.reduce_std(delta, 0)]
        return tf.concat(parts, 0)

    def __call__(self, name):
        return self.pool(self.features(self.read(name))).numpy()


def main(argv):
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("-n", "--clips", type=int, default=44)
    ap.add_argument("-o", "--out", default=None)
    args = ap.parse_args(argv)
    folder = tempfile.mkdtemp(prefix="coughs")
    names = record_clips(folder, args.clips)
    extract = Extractor()
    rows = []
    for i, name in enumerate(names):
        rows.append(extract(name))
        if (i + 1) % 10 == 0:
            print("%d/%d" % (i + 1, len(names)), flush=True)
    table = np.stack(rows)
    out = args.out or os.path.join(folder, "features.npz")
    np.savez(out, x=table, names=np.array([os.path.basename(n) for n in names]))
    print(out, table.shape, "mean %.5f" % table.mean())


if __name__ == "__main__":
    main(sys.argv[1:])
