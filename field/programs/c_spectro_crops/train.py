"""Bird-call detector on random crops of spectrograms."""
import argparse
import gc
import random

import numpy as np
import tensorflow as tf


class SpectrogramBank:
    """Spectrogram crops with per-crop normalisation, memoised."""

    def __init__(self, n_calls, frames, bins, crop, seed):
        rng = np.random.default_rng(seed)
        self.crop = crop
        self.calls = [rng.normal(0, 1, (frames, bins)).astype(np.float32) for _ in range(n_calls)]
        self.labels = rng.integers(0, 2, n_calls)
        for call, label in zip(self.calls, self.labels):
            if label:
                call[:, 20:28] += 1.5
        self._memo = {}

    def _features(self, index, offset, gain):
        key = (index, offset, gain)
        if key not in self._memo:
            crop = self.calls[index][offset:offset + self.crop] * gain
            crop = (crop - crop.mean()) / (crop.std() + 1e-6)
            self._memo[key] = crop
        return self._memo[key]

    def batch(self, size):
        picks = [random.randrange(len(self.calls)) for _ in range(size)]
        xs = [self._features(i, random.randrange(len(self.calls[i]) - self.crop), random.uniform(0.8, 1.2))
              for i in picks]
        return np.stack(xs)[..., None], self.labels[picks].astype(np.float32)[:, None]


def detector(crop, bins):
    return tf.keras.Sequential([
        tf.keras.Input((crop, bins, 1)),
        tf.keras.layers.Conv2D(8, (5, 5), strides=(3, 3), activation="relu"),
        tf.keras.layers.Conv2D(16, (3, 3), strides=(2, 2), activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(1),
    ])


def parse_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iterations", type=int, default=50)
    ap.add_argument("--batch-size", type=int, default=192)
    ap.add_argument("--crop", type=int, default=128)
    ap.add_argument("--report-every", type=int, default=10)
    return ap.parse_args()


def main():
    args = parse_args()
    random.seed(3)
    tf.keras.utils.set_random_seed(3)
    bank = SpectrogramBank(200, 600, 64, args.crop, seed=3)
    model = detector(args.crop, 64)
    model.compile(tf.keras.optimizers.Adam(2e-3),
                  tf.keras.losses.BinaryCrossentropy(from_logits=True))
    total = 0.0
    for it in range(1, args.iterations + 1):
        x, y = bank.batch(args.batch_size)
        total += float(model.train_on_batch(x, y))
        gc.collect()  # keep the footprint down between batches
        if it % args.report_every == 0:
            print(f"iteration {it}: mean loss {total / it:.4f}")


if __name__ == "__main__":
    main()
