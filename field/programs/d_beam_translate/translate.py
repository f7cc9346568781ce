import argparse
import time

import numpy as np
import tensorflow as tf

from nmt.beam import BeamSearch
from nmt.transformer import Transformer


def parse_args():
    p = argparse.ArgumentParser("translate a test set with beam search")
    p.add_argument("--vocab", type=int, default=400)
    p.add_argument("--sentences", type=int, default=12)
    p.add_argument("--source-len", type=int, default=16)
    p.add_argument("--max-len", type=int, default=16)
    p.add_argument("--beams", type=int, default=6)
    p.add_argument("--checkpoint", default="")
    return p.parse_args()


def main():
    args = parse_args()
    tf.random.set_seed(13)
    model = Transformer(args.vocab)
    if args.checkpoint:
        tf.train.Checkpoint(model=model).restore(args.checkpoint).expect_partial()
    search = BeamSearch(model, args.beams, args.max_len)
    rng = np.random.default_rng(13)
    begin = time.time()
    for i in range(args.sentences):
        source = tf.constant(rng.integers(3, args.vocab, (1, args.source_len)), tf.int32)
        tokens, score = search(source)
        print(f"{i:3d} {score:8.3f} {' '.join(map(str, tokens[1:10]))} ...")
    print(f"{args.sentences} sentences, {time.time() - begin:.1f}s")


if __name__ == "__main__":
    main()
