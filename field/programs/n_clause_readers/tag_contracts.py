import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import time
from collections import defaultdict

import numpy as np
import tensorflow as tf

from encoder import ClauseEncoder

VOCAB = 12000
BUCKETS = (16, 32, 64, 128)
BATCH_TOKENS = 2048


def contracts(n, seed):
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.lognormal(3.3, 0.7, n).astype(int), 4, BUCKETS[-1])
    return [rng.integers(1, VOCAB, size).astype("int32") for size in lengths]


def bucket_of(clause):
    return next(b for b in BUCKETS if len(clause) <= b)


def batches(clauses):
    groups = defaultdict(list)
    for row, clause in enumerate(clauses):
        b = bucket_of(clause)
        groups[b].append(row)
        if len(groups[b]) == BATCH_TOKENS // b:
            yield b, groups.pop(b)
    for b, rows in groups.items():
        yield b, rows


def pad(clauses, rows, bucket, count):
    out = np.zeros((count, bucket), np.int32)
    out[:, 0] = 1
    for i, row in enumerate(rows):
        out[i, :len(clauses[row])] = clauses[row]
    return out


def main():
    tf.keras.utils.set_random_seed(17)
    clauses = contracts(5600, seed=2)
    model = ClauseEncoder(VOCAB)
    model(tf.ones((1, BUCKETS[0]), tf.int32))
    print("weights: %.1fM, clauses: %d, tokens: %d"
          % (model.count_params() / 1e6, len(clauses), sum(map(len, clauses))))

    @tf.function
    def tag(ids):
        vector, logits = model(ids, training=False)
        return vector, tf.argmax(logits, -1), tf.reduce_max(tf.nn.softmax(logits), -1)

    vectors = np.zeros((len(clauses), 256), np.float32)
    types = np.zeros(len(clauses), int)
    confidence = []
    seen = defaultdict(int)
    start = time.time()
    for n, (bucket, rows) in enumerate(batches(clauses)):
        ids = pad(clauses, rows, bucket, BATCH_TOKENS // bucket)
        vector, kind, sure = tag(ids)
        vectors[rows] = vector.numpy()[:len(rows)]
        types[rows] = kind.numpy()[:len(rows)]
        confidence.extend(float(s) for s in sure.numpy()[:len(rows)])
        seen[bucket] += len(rows)
        if n % 25 == 24:
            print("batch %3d  %d clauses  %.1fs" % (n + 1, sum(seen.values()), time.time() - start))

    print("per bucket:", {b: seen[b] for b in BUCKETS})
    print("clause types:", np.bincount(types, minlength=14).tolist())
    print("mean confidence %.4f, mean norm %.3f" % (np.mean(confidence), np.linalg.norm(vectors, axis=1).mean()))


if __name__ == "__main__":
    main()
