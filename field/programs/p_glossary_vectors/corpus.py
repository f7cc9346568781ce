from collections import Counter

import numpy as np


def zipf_text(n_words, vocab, seed=0):
    """Ids of a synthetic text: topics of neighbouring ids, Zipf frequencies."""
    rng = np.random.default_rng(seed)
    base = (rng.zipf(1.25, n_words) - 1) % vocab
    topic = np.repeat(rng.integers(0, 50, n_words // 20 + 1), 20)[:n_words] * (vocab // 50)
    local = topic + rng.integers(0, 40, n_words)
    return np.where(rng.random(n_words) < 0.5, base, local % vocab)


class Vocabulary:
    def __init__(self, ids, size, t=1e-3):
        counts = Counter(ids.tolist())
        self.size = size
        self.freq = np.array([counts.get(i, 0) for i in range(size)], dtype=np.float64)
        share = self.freq / self.freq.sum()
        self.keep = np.minimum(1.0, np.sqrt(t / np.maximum(share, 1e-12)))
        noise = self.freq ** 0.75
        self.noise = noise / noise.sum()

    def negatives(self, k, exclude):
        """k words of the noise distribution, none of them the given word."""
        out = []
        while len(out) < k:
            draw = np.random.choice(self.size, size=k, p=self.noise)
            out.extend(w for w in draw if w != exclude)
        return out[:k]


def subsample(ids, vocab, rng):
    return ids[rng.random(len(ids)) < vocab.keep[ids]]


def examples(ids, vocab, window, k, rng):
    for pos in range(window, len(ids) - window):
        reach = rng.integers(1, window + 1)
        around = pos + rng.choice([-1, 1]) * rng.integers(1, reach + 1)
        centre, context = ids[pos], ids[around]
        yield centre, [context] + vocab.negatives(k, context)


def batched(stream, size):
    c, t = [], []
    for centre, targets in stream:
        c.append(centre)
        t.append(targets)
        if len(c) == size:
            yield np.array(c, np.int32), np.array(t, np.int32)
            c, t = [], []
