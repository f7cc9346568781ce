"""Perplexity and top-5 accuracy of a small language model on held-out text, one line per dialect."""
import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

from lm import TinyLM

DIALECTS = ["coast", "valley", "hill", "city"]


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--vocab", type=int, default=6000)
    p.add_argument("--seq-len", type=int, default=64)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--sentences", type=int, default=1280)
    p.add_argument("--checkpoint", default=None)
    p.add_argument("--seed", type=int, default=11)
    return p.parse_args()


def load_corpus(args):
    rng = np.random.default_rng(args.seed)
    ranks = np.arange(1, args.vocab + 1)
    probs = 1.0 / ranks ** 1.05
    probs /= probs.sum()
    tokens = rng.choice(args.vocab, size=(args.sentences, args.seq_len + 1), p=probs)
    dialect = rng.integers(0, len(DIALECTS), size=args.sentences)
    return tokens.astype("int32"), dialect.astype("int32")


def make_dataset(tokens, batch_size):
    ds = tf.data.Dataset.from_tensor_slices(tokens)
    ds = ds.batch(batch_size, drop_remainder=True)
    ds = ds.map(lambda t: (t[:, :-1], t[:, 1:]), num_parallel_calls=tf.data.AUTOTUNE)
    return ds.prefetch(2)


def main():
    args = parse_args()
    tf.keras.utils.set_random_seed(args.seed)
    tokens, dialect = load_corpus(args)
    dataset = make_dataset(tokens, args.batch_size)

    model = TinyLM(args.vocab, depth=6, width=256, max_len=args.seq_len)
    model(tf.zeros((1, args.seq_len), tf.int32))
    if args.checkpoint:
        model.load_weights(args.checkpoint)
    print("parameters:", model.count_params())

    @tf.function
    def eval_step(inputs):
        return model(inputs, training=False)

    all_logits = []
    all_targets = []
    for step, (inputs, targets) in enumerate(dataset):
        logits = eval_step(inputs)
        all_logits.append(logits)
        all_targets.append(targets)
        if (step + 1) % 20 == 0:
            print(f"  batch {step + 1}: {inputs.shape[0] * (step + 1)} sentences")

    nll, hit = [], []
    for logits, targets in zip(all_logits, all_targets):
        nll.append(tf.keras.losses.sparse_categorical_crossentropy(targets, logits, from_logits=True))
        flat = tf.reshape(logits, (-1, args.vocab))
        top = tf.math.in_top_k(tf.reshape(targets, (-1,)), flat, k=5)
        hit.append(tf.reshape(top, tf.shape(targets)))
    nll = tf.concat(nll, axis=0).numpy()
    hit = tf.concat(hit, axis=0).numpy()

    print(f"{'dialect':<10}{'ppl':>12}{'top-5':>9}{'n':>7}")
    for i, name in enumerate(DIALECTS):
        rows = dialect[: len(nll)] == i
        print(f"{name:<10}{np.exp(nll[rows].mean()):>12.2f}{hit[rows].mean():>9.4f}{rows.sum():>7}")
    print(f"{'all':<10}{np.exp(nll.mean()):>12.2f}{hit.mean():>9.4f}{len(nll):>7}")


if __name__ == "__main__":
    main()
