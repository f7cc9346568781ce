"""Token tagger for contract clauses (convolutional), padded per batch."""

import argparse
import time

import numpy as np
import tensorflow as tf

TAGS = 9
VOCAB = 5000


class ClauseCorpus:
    def __init__(self, n_batches, batch_size, seed):
        self.n_batches = n_batches
        self.batch_size = batch_size
        self.rng = np.random.default_rng(seed)

    def __iter__(self):
        for _ in range(self.n_batches):
            lengths = np.clip(self.rng.lognormal(4.6, 0.6, self.batch_size), 10, 600).astype(int)
            width = int(lengths.max())
            tokens = np.zeros((self.batch_size, width), np.int32)
            tags = np.zeros((self.batch_size, width), np.int32)
            for i, n in enumerate(lengths):
                tokens[i, :n] = self.rng.integers(1, VOCAB, n)
                tags[i, :n] = tokens[i, :n] % TAGS
            yield tokens, tags


class Tagger(tf.Module):
    def __init__(self, dim=48, channels=64, layers=5):
        super().__init__()
        self.emb = tf.Variable(tf.random.normal([VOCAB, dim], stddev=0.05))
        self.kernels, self.biases = [], []
        width = dim
        for i in range(layers):
            self.kernels.append(tf.Variable(tf.random.normal([5, width, channels], stddev=0.08)))
            self.biases.append(tf.Variable(tf.zeros([channels])))
            width = channels
        self.out = tf.Variable(tf.random.normal([width, TAGS], stddev=0.1))

    def __call__(self, tokens):
        h = tf.gather(self.emb, tokens)
        for k, b in zip(self.kernels, self.biases):
            h = tf.nn.relu(tf.nn.conv1d(h, k, stride=1, padding="SAME") + b)
        return tf.einsum("btc,cn->btn", h, self.out)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--batches", type=int, default=260)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--lr", type=float, default=0.1)
    a = ap.parse_args()

    model = Tagger()
    variables = list(model.trainable_variables)

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None], tf.int32),
            tf.TensorSpec([None, None], tf.int32),
        ]
    )
    def train_step(tokens, tags):
        mask = tf.cast(tokens > 0, tf.float32)
        with tf.GradientTape() as tape:
            logits = model(tokens)
            ce = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tags, logits=logits)
            loss = tf.reduce_sum(ce * mask) / tf.reduce_sum(mask)
        for v, g in zip(variables, tape.gradient(loss, variables)):
            if isinstance(g, tf.IndexedSlices):
                v.scatter_sub(tf.IndexedSlices(a.lr * g.values, g.indices))
            else:
                v.assign_sub(a.lr * g)
        return loss

    start = time.time()
    losses = []
    for i, (tokens, tags) in enumerate(ClauseCorpus(a.batches, a.batch_size, seed=17), 1):
        losses.append(float(train_step(tokens, tags)))
        if i % 50 == 0:
            print(
                f"{i:5d} batches  loss {np.mean(losses[-50:]):.4f}  {i / (time.time() - start):.1f} batches/s"
            )


if __name__ == "__main__":
    main()
