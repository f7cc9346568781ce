import numpy as np

BUCKETS = (32, 64, 96)
HANDS = ("curate", "clerk", "squire", "schoolmaster", "midwife")
VOCAB = 1200


def letters(count, seed):
    """Token ids of transcribed letters; every hand has its favourite words."""
    rng = np.random.default_rng(seed)
    taste = np.random.default_rng(1).dirichlet(np.full(VOCAB - 2, 0.05), size=len(HANDS))
    out = []
    for _ in range(count):
        hand = int(rng.integers(len(HANDS)))
        n = int(np.clip(rng.gamma(4.0, 13.0), 10, BUCKETS[-1]))
        mix = 0.15 * taste[hand] + 0.85 / (VOCAB - 2)
        out.append((rng.choice(VOCAB - 2, n, p=mix) + 2, hand))
    return out


def bucketed(items, batch, seed=None):
    """Yields padded (tokens, hand) batches of similar length; shuffled when a seed is given."""
    shelves = {b: [] for b in BUCKETS}
    for tokens, hand in items:
        shelves[next(b for b in BUCKETS if len(tokens) <= b)].append((tokens, hand))
    arrays = {}
    for width, rows in shelves.items():
        x = np.zeros((len(rows), width), "int32")
        for i, (tokens, _) in enumerate(rows):
            x[i, : len(tokens)] = tokens
        arrays[width] = (x, np.array([h for _, h in rows], "int32"))
    rng = np.random.default_rng(seed) if seed is not None else None

    def stream():
        plan = []
        for width, (x, y) in arrays.items():
            order = rng.permutation(len(x)) if rng is not None else np.arange(len(x))
            plan += [(width, order[i:i + batch]) for i in range(0, len(x) - batch + 1, batch)]
        if rng is not None:
            rng.shuffle(plan)
        for width, rows in plan:
            yield arrays[width][0][rows], arrays[width][1][rows]

    return stream
