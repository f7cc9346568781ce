"""Skip-gram with negative sampling for a glossary of trade terms."""
import argparse
import itertools
import time

import numpy as np
import tensorflow as tf

from corpus import Vocabulary, batched, examples, subsample, zipf_text


class SGNS(tf.Module):
    def __init__(self, vocab, dim, lr):
        super().__init__()
        init = tf.random_uniform_initializer(-0.5 / dim, 0.5 / dim)
        self.inp = tf.Variable(init([vocab, dim]), name="inp")
        self.out = tf.Variable(tf.zeros([vocab, dim]), name="out")
        self.lr = lr

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([None, None], tf.int32)])
    def train(self, centre, targets):
        with tf.GradientTape() as tape:
            v = tf.gather(self.inp, centre)
            u = tf.gather(self.out, targets)
            logits = tf.einsum("bd,bkd->bk", v, u)
            labels = tf.concat([tf.ones_like(logits[:, :1]), tf.zeros_like(logits[:, 1:])], 1)
            loss = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))
        for var, g in zip((self.inp, self.out), tape.gradient(loss, (self.inp, self.out))):
            var.scatter_sub(tf.IndexedSlices(self.lr * g.values, g.indices))
        return loss / tf.cast(tf.shape(centre)[0], tf.float32)

    def neighbours(self, word, n=5):
        e = tf.math.l2_normalize(self.inp, -1)
        return tf.math.top_k(tf.linalg.matvec(e, e[word]), n + 1).indices.numpy()[1:]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--vocab", type=int, default=30000)
    ap.add_argument("--dim", type=int, default=100)
    ap.add_argument("--window", type=int, default=4)
    ap.add_argument("--negative", type=int, default=8)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--steps", type=int, default=160)
    args = ap.parse_args()
    np.random.seed(6)
    rng = np.random.default_rng(6)
    text = zipf_text(400000, args.vocab)
    vocab = Vocabulary(text, args.vocab)
    text = subsample(text, vocab, rng)
    print("tokens after subsampling:", len(text))
    model = SGNS(args.vocab, args.dim, 0.05)
    t0, total = time.time(), 0.0
    stream = batched(examples(text, vocab, args.window, args.negative, rng), args.batch)
    for step, (c, t) in enumerate(itertools.islice(stream, args.steps), 1):
        total += float(model.train(c, t))
        if step % 40 == 0:
            print("step %d  loss %.4f  %.1f s" % (step, total / 40, time.time() - t0))
            total = 0.0
    print("neighbours of 600:", model.neighbours(600))


if __name__ == "__main__":
    main()
