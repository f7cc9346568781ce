import numpy as np

from . import settings as s


def pairs(seed=21):
    rng = np.random.default_rng(seed)
    q = rng.integers(1, s.TERMS, (s.QUERIES, s.QUERY_LEN)).astype("int32")
    d = rng.integers(1, s.TERMS, (s.QUERIES, s.DOC_LEN)).astype("int32")
    rel = rng.random(s.QUERIES) < 0.5
    d[rel, : s.QUERY_LEN] = q[rel]
    return q, d, rel.astype("float32")


def batches():
    q, d, rel = pairs()
    while True:
        order = np.random.permutation(len(rel))
        for i in range(0, len(order), s.BATCH):
            k = order[i : i + s.BATCH]
            yield {"query": q[k], "doc": d[k]}, rel[k]
