"""Vectors for the case archive and its nearest neighbours."""
import argparse
import os
import tempfile
import time

import numpy as np

from encoder import Encoder

BUCKETS = (32, 64, 96, 128)


def archive(n, vocab, seed):
    rng = np.random.default_rng(seed)
    topics = rng.integers(0, 40, n)
    lengths = np.clip(rng.gamma(3.0, 20.0, n).astype(int), 8, 128)
    return [np.concatenate([[t + 1], rng.integers(41, vocab, k - 1)]) for t, k in zip(topics, lengths)], topics


def bucketed(docs, size):
    groups = {b: [] for b in BUCKETS}
    for i, d in enumerate(docs):
        groups[next(b for b in BUCKETS if len(d) <= b)].append(i)
    for b in BUCKETS:
        members = groups[b]
        for s in range(0, len(members), size):
            part = members[s:s + size]
            ids = np.zeros((size, b), np.int32)
            for row, i in enumerate(part):
                ids[row, :len(docs[i])] = docs[i]
            yield part, ids


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--docs", type=int, default=3600)
    ap.add_argument("--batch", type=int, default=8)
    ap.add_argument("--dim", type=int, default=192)
    ap.add_argument("--layers", type=int, default=4)
    ap.add_argument("--out")
    args = ap.parse_args()

    docs, topics = archive(args.docs, 8000, 4)
    enc = Encoder(8000, args.dim, 6, args.layers, max(BUCKETS))
    vectors = [None] * len(docs)
    t0 = time.time()
    for k, (part, ids) in enumerate(bucketed(docs, args.batch)):
        out = enc(ids).numpy()
        for row, i in enumerate(part):
            vectors[i] = out[row]
        if (k + 1) % 50 == 0:
            print("%4d batches  width %3d  %.1f docs/s" % (k + 1, ids.shape[1], (k + 1) * args.batch / (time.time() - t0)))
    vectors = np.stack(vectors)

    sims = vectors @ vectors.T
    np.fill_diagonal(sims, -1)
    nearest = np.argsort(-sims, 1)[:, :5]
    print("same topic among 5 nearest: %.3f" % (topics[nearest] == topics[:, None]).mean())
    out = args.out or os.path.join(tempfile.mkdtemp(), "cases.npz")
    np.savez(out, vectors=vectors.astype(np.float16), nearest=nearest)
    print("written", os.path.basename(out), vectors.shape)


if __name__ == "__main__":
    main()
