import argparse

import keras
import tensorflow as tf
from keras import layers

from corpus import HANDS, VOCAB, bucketed, letters

SPEC = (tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,), tf.int32))


class Block(layers.Layer):
    def __init__(self, dim, heads, **kw):
        super().__init__(**kw)
        self.att = layers.MultiHeadAttention(heads, dim // heads)
        self.up = layers.Dense(4 * dim, activation="gelu")
        self.down = layers.Dense(dim)
        self.n1, self.n2 = layers.LayerNormalization(), layers.LayerNormalization()

    def call(self, x, keep):
        y = self.n1(x)
        x = x + self.att(y, y, attention_mask=keep[:, None, :])
        return x + self.down(self.up(self.n2(x)))


class HandModel(keras.Model):
    def __init__(self, dim=96, depth=2, heads=4):
        super().__init__()
        self.words = layers.Embedding(VOCAB, dim)
        self.places = layers.Embedding(128, dim)
        self.blocks = [Block(dim, heads) for _ in range(depth)]
        self.out = layers.Dense(len(HANDS))

    def call(self, tokens):
        keep = tf.not_equal(tokens, 0)
        x = self.words(tokens) + self.places(tf.range(tf.shape(tokens)[1]))[None]
        for block in self.blocks:
            x = block(x, keep)
        weight = tf.cast(keep, tf.float32)[..., None]
        return self.out(tf.reduce_sum(x * weight, 1) / tf.reduce_sum(weight, 1))


def as_dataset(stream):
    return tf.data.Dataset.from_generator(stream, output_signature=SPEC).prefetch(2)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--letters", type=int, default=2000)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch", type=int, default=32)
    a = p.parse_args()
    keras.utils.set_random_seed(4)

    train = as_dataset(bucketed(letters(a.letters, 2), a.batch, seed=8))
    valid = as_dataset(bucketed(letters(a.letters // 6, 3), a.batch))

    model = HandModel()
    optimizer = keras.optimizers.AdamW(1e-3)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    hits = keras.metrics.SparseCategoricalAccuracy()

    @tf.function(input_signature=SPEC)
    def update(tokens, hand):
        with tf.GradientTape() as tape:
            loss = loss_fn(hand, model(tokens, training=True))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(grads, model.trainable_variables)
        return loss

    @tf.function(input_signature=SPEC)
    def check(tokens, hand):
        hits.update_state(hand, model(tokens, training=False))

    model(tf.zeros((1, 32), tf.int32))
    optimizer.build(model.trainable_variables)
    curve = []
    for epoch in range(a.epochs):
        losses = []
        for tokens, hand in train:
            losses.append(update(tokens, hand))
        curve.append(float(tf.reduce_mean(losses)))
        hits.reset_state()
        for tokens, hand in valid:
            check(tokens, hand)
        print("epoch %d  loss %.4f  valid accuracy %.3f" % (epoch, curve[-1], float(hits.result())))
    print("updates:", int(optimizer.iterations.numpy()))


if __name__ == "__main__":
    main()
