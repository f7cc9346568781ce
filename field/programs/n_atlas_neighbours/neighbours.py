"""Exact nearest neighbours of place names in a large embedding table (cosine, top k)."""
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf


class Atlas:
    def __init__(self, rows, dim, seed, block=50_000):
        self.rows, self.dim, self.block = rows, dim, block
        self.blocks = []
        for n, lo in enumerate(range(0, rows, block)):
            size = min(block, rows - lo)
            v = tf.random.stateless_normal((size, dim), seed=(seed, n))
            self.blocks.append(tf.math.l2_normalize(v, axis=1))

    @property
    def megabytes(self):
        return sum(b.shape[0] * b.shape[1] * 4 for b in self.blocks) / 2**20

    def vectors(self, ids):
        out = np.empty((len(ids), self.dim), np.float32)
        for n, b in enumerate(self.blocks):
            here = (ids >= n * self.block) & (ids < (n + 1) * self.block)
            out[here] = tf.gather(b, ids[here] - n * self.block).numpy()
        return out


class Searcher:
    def __init__(self, atlas, k):
        self.atlas = atlas
        self.k = k

    def _merge(self, queries, block, offset, best_score, best_id):
        sim = tf.matmul(queries, block, transpose_b=True)
        score, index = tf.math.top_k(sim, k=self.k)
        score = tf.concat([best_score, score], axis=1)
        ids = tf.concat([best_id, index + offset], axis=1)
        score, pos = tf.math.top_k(score, k=self.k)
        return score, tf.gather(ids, pos, batch_dims=1)

    @tf.function
    def _search(self, queries):
        n = queries.shape[0]
        score = tf.fill((n, self.k), -2.0)
        ids = tf.fill((n, self.k), -1)
        for i, block in enumerate(self.atlas.blocks):
            score, ids = self._merge(queries, block, i * self.atlas.block, score, ids)
        return score, ids

    def search(self, queries):
        score, ids = self._search(queries)
        return score.numpy(), ids.numpy()


def make_queries(atlas, n, seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, atlas.rows, n)
    q = atlas.vectors(truth) + rng.normal(0, 0.09, (n, atlas.dim)).astype("float32")
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    return q, truth


def main():
    atlas = Atlas(rows=600_000, dim=320, seed=4)
    print("table: %d x %d, %.0f MB" % (atlas.rows, atlas.dim, atlas.megabytes))
    queries, truth = make_queries(atlas, n=3072, seed=9)
    searcher = Searcher(atlas, k=10)

    found, scores = [], []
    start = time.time()
    for lo in range(0, len(queries), 256):
        score, ids = searcher.search(tf.constant(queries[lo:lo + 256]))
        found.append(ids)
        scores.append(score)
        print("queries %4d-%4d  best %.3f  %.1fs"
              % (lo, lo + len(ids) - 1, score[:, 0].mean(), time.time() - start))
    found = np.concatenate(found)
    for k in (1, 5, 10):
        print("recall@%d: %.4f" % (k, (found[:, :k] == truth[:, None]).any(1).mean()))
    print("mean margin: %.4f" % np.mean([s[:, 0] - s[:, 1] for s in scores]))


if __name__ == "__main__":
    main()
