"""Packs documents (token ids + metadata) into compressed TFRecord shards for the pre-training job."""
import argparse
import hashlib
import os
import tempfile

import numpy as np
import tensorflow as tf


def documents(n, vocab, rng):
    weights = 1.0 / np.arange(1, vocab + 1)
    cdf = np.cumsum(weights / weights.sum())
    for i in range(n):
        length = int(rng.integers(200, 1200))
        yield i, np.searchsorted(cdf, rng.random(length)).astype(np.uint16)


def serialize(doc_id, tokens):
    raw = tokens.tobytes()
    feature = {
        "id": tf.train.Feature(int64_list=tf.train.Int64List(value=[doc_id])),
        "tokens": tf.train.Feature(bytes_list=tf.train.BytesList(value=[raw])),
        "length": tf.train.Feature(int64_list=tf.train.Int64List(value=[len(tokens)])),
        "digest": tf.train.Feature(bytes_list=tf.train.BytesList(value=[hashlib.sha1(raw).digest()])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


class ShardWriter:
    def __init__(self, folder, shards):
        options = tf.io.TFRecordOptions(compression_type="GZIP", compression_level=6)
        self.paths = [os.path.join(folder, f"docs-{i:03d}-of-{shards:03d}.gz") for i in range(shards)]
        self.writers = [tf.io.TFRecordWriter(p, options) for p in self.paths]

    def __enter__(self):
        return self

    def write(self, key, record):
        self.writers[key % len(self.writers)].write(record)

    def __exit__(self, *exc):
        for w in self.writers:
            w.close()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--documents", type=int, default=30000)
    ap.add_argument("--vocab", type=int, default=30000)
    ap.add_argument("--shards", type=int, default=8)
    ap.add_argument("--out")
    args = ap.parse_args()
    folder = args.out or tempfile.mkdtemp(prefix="shards_")
    tokens_total = 0
    with ShardWriter(folder, args.shards) as shard:
        for doc_id, tokens in documents(args.documents, args.vocab, np.random.default_rng(1)):
            shard.write(doc_id, serialize(doc_id, tokens))
            tokens_total += len(tokens)
            if doc_id % 6000 == 0:
                print("document", doc_id)
    size = sum(os.path.getsize(p) for p in shard.paths)
    print(f"{tokens_total} tokens, {size / 1e6:.1f} MB")
    count = sum(1 for _ in tf.data.TFRecordDataset(shard.paths[:1], compression_type="GZIP"))
    print("first shard holds", count, "documents")


if __name__ == "__main__":
    main()
