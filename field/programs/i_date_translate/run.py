import argparse

import tensorflow as tf
from tensorflow import keras

from dates.data import Corpus, PAD
from dates.model import Transformer, Translator


def get_args():
    parser = argparse.ArgumentParser(description="human readable dates to ISO dates")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--examples", type=int, default=1920)
    parser.add_argument("--held-out", type=int, default=6)
    return parser.parse_args()


def main(args):
    keras.utils.set_random_seed(3)
    corpus = Corpus(args.examples, args.held_out)
    model = Transformer(len(corpus.src_vocab), len(corpus.tgt_vocab))
    translate = Translator(model, corpus)
    optimizer = keras.optimizers.Adam(1e-3)
    accuracy = keras.metrics.SparseCategoricalAccuracy()

    @tf.function
    def update(src, tgt):
        with tf.GradientTape() as tape:
            logits = model((src, tgt[:, :-1]))
            gold = tgt[:, 1:]
            mask = tf.cast(gold != PAD, tf.float32)
            ce = tf.nn.sparse_softmax_cross_entropy_with_logits(gold, logits) * mask
            loss = tf.reduce_sum(ce) / tf.reduce_sum(mask)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        accuracy.update_state(gold, logits, mask)
        return loss

    train = tf.data.Dataset.from_tensor_slices(corpus.train).shuffle(args.examples).batch(
        args.batch, drop_remainder=True).prefetch(1)
    for epoch in range(args.epochs):
        accuracy.reset_state()
        for src, tgt in train:
            loss = update(src, tgt)
        rows, gold = corpus.test
        answers = [translate(row) for row in rows]
        exact = sum(a == g for a, g in zip(answers, gold)) / len(gold)
        print("epoch %d loss %.3f token accuracy %.3f exact match %.2f e.g. %s" % (
            epoch + 1, loss, accuracy.result(), exact, answers[0]))


if __name__ == "__main__":
    main(get_args())
