import argparse
import collections

import numpy as np
import tensorflow as tf

from captions.model import Captioner
from captions.text import Vocabulary


def image_batches(total, batch):
    rng = np.random.default_rng(20)
    for start in range(0, total, batch):
        yield rng.random((min(batch, total - start), 96, 96, 3), dtype=np.float32)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--images", type=int, default=1600)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--vocab", type=int, default=8000)
    ap.add_argument("--width", type=int, default=320)
    ap.add_argument("--max-len", type=int, default=24)
    args = ap.parse_args()
    vocabulary = Vocabulary(args.vocab)
    model = Captioner(args.vocab, args.width, args.max_len)
    used = collections.Counter()
    for n, images in enumerate(image_batches(args.images, args.batch)):
        ids = model.caption(tf.constant(images)).numpy()
        sentences = [vocabulary.sentence(row) for row in ids]
        used.update(w for s in sentences for w in s.split())
        print(f"batch {n}: {sentences[0][:60]}")
    print(len(used), "distinct words")


if __name__ == "__main__":
    main()
