import numpy as np


class FieldRecorder:
    """Clips from a week of field recordings, drawn from a small bank of song phrases."""

    def __init__(self, clips, rate=16000, seconds=6.0, species=9, seed=0):
        self.clips, self.rate, self.species = clips, rate, species
        self.samples = int(rate * seconds)
        rng = np.random.default_rng(seed)
        t = np.arange(self.samples, dtype=np.float32) / rate
        self.songs = []
        for s in range(species):
            f = 1500 + 500 * s + 400 * np.sin(2 * np.pi * (1 + s % 4) * t)
            env = (np.sin(2 * np.pi * (0.5 + 0.25 * s) * t) > 0.2).astype(np.float32)
            self.songs.append(np.sin(2 * np.pi * np.cumsum(f) / rate).astype(np.float32) * env)
        self.wind = rng.normal(0, 0.2, self.samples * 4).astype(np.float32)
        self.draws = [(int(rng.integers(species)), int(rng.integers(self.samples * 3)), float(rng.uniform(0.2, 1)))
                      for _ in range(clips)]

    def __call__(self):
        for label, lo, gain in self.draws:
            yield gain * self.songs[label] + self.wind[lo:lo + self.samples], label
