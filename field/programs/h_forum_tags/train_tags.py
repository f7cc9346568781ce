import argparse

import tensorflow as tf

from tags.posts import TOPICS, write_posts
from tags.text import Vocabulary, pipeline


def tagger(vocabulary, units):
    return tf.keras.Sequential([
        tf.keras.layers.Embedding(len(vocabulary), 48, mask_zero=False),
        tf.keras.layers.Bidirectional(tf.keras.layers.GRU(units)),
        tf.keras.layers.Dense(len(TOPICS)),
    ])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--posts", type=int, default=1600)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--units", type=int, default=96)
    args = ap.parse_args()
    tf.keras.utils.set_random_seed(2)
    posts, tags = write_posts(args.posts)
    vocabulary = Vocabulary(posts)
    data = pipeline(posts, tags, vocabulary, args.batch)
    model = tagger(vocabulary, args.units)
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    model.fit(data, epochs=args.epochs, verbose=2)


if __name__ == "__main__":
    main()
