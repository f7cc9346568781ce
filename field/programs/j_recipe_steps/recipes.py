"""Ingredient lists to steps: a small encoder-decoder with its own train_step; sample outputs are written after each epoch."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

CONFIG = dict(
    words=120, source=20, longest=44, width=64, heads=4, layers=2,
    pairs=1280, batch=64, epochs=3, samples=12, rate=2e-3, seed=27,
)
PAD, START, END = 0, 1, 2


def corpus(c):
    rng = np.random.default_rng(c["seed"])
    source = np.zeros((c["pairs"], c["source"]), np.int32)
    target = np.zeros((c["pairs"], c["longest"] + 1), np.int32)
    for row in range(c["pairs"]):
        n = rng.integers(8, c["source"] + 1)
        items = rng.integers(3, c["words"], n)
        steps = np.repeat(np.sort(items), 2)[: c["longest"] - 1]
        source[row, :n] = items
        target[row, : len(steps) + 2] = [START, *steps, END]
    return source, target


class Block(layers.Layer):
    def __init__(self, c, cross):
        super().__init__()
        size = c["width"] // c["heads"]
        self.look = layers.MultiHeadAttention(c["heads"], size)
        self.cross = layers.MultiHeadAttention(c["heads"], size) if cross else None
        self.first, self.second, self.third = (layers.LayerNormalization() for _ in range(3))
        self.wide, self.narrow = layers.Dense(4 * c["width"], "relu"), layers.Dense(c["width"])

    def call(self, x, memory=None):
        y = self.first(x)
        x = x + self.look(y, y, use_causal_mask=self.cross is not None)
        if self.cross is not None:
            x = x + self.cross(self.second(x), memory)
        return x + self.narrow(self.wide(self.third(x)))


class Cook(keras.Model):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.words = layers.Embedding(c["words"], c["width"])
        self.places = layers.Embedding(c["longest"] + 1, c["width"])
        self.reading = [Block(c, False) for _ in range(c["layers"])]
        self.writing = [Block(c, True) for _ in range(c["layers"])]
        self.out = layers.Dense(c["words"])
        self.mean = keras.metrics.Mean(name="loss")

    @property
    def metrics(self):
        return [self.mean]

    def embed(self, tokens):
        return self.words(tokens) + self.places(tf.range(tf.shape(tokens)[1]))

    def call(self, pair):
        source, sofar = pair
        memory = self.embed(source)
        for block in self.reading:
            memory = block(memory)
        x = self.embed(sofar)
        for block in self.writing:
            x = block(x, memory)
        return self.out(x)

    def train_step(self, pair):
        source, target = pair
        with tf.GradientTape() as tape:
            logits = self((source, target[:, :-1]))
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(target[:, 1:], logits)
            there = tf.cast(target[:, 1:] != PAD, tf.float32)
            loss = tf.reduce_sum(losses * there) / tf.reduce_sum(there)
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        self.mean.update_state(loss)
        return {"loss": self.mean.result()}

    @tf.function
    def following(self, source, sofar):
        return tf.argmax(self((source, sofar))[:, -1], axis=-1, output_type=tf.int32)

    def write(self, source):
        sofar = tf.fill((len(source), 1), START)
        while sofar.shape[1] < self.c["longest"]:
            token = self.following(source, sofar)
            sofar = tf.concat([sofar, token[:, None]], axis=1)
        return sofar.numpy()


class Samples(keras.callbacks.Callback):
    def __init__(self, source, target):
        super().__init__()
        self.source, self.target = tf.constant(source), target

    def on_epoch_end(self, epoch, logs=None):
        made = self.model.write(self.source)
        same = (made == self.target[:, : made.shape[1]])[self.target[:, : made.shape[1]] != PAD]
        print(f"epoch {epoch + 1}: loss {logs['loss']:.4f}, tokens right {same.mean():.3f}")


def main(c=CONFIG):
    keras.utils.set_random_seed(c["seed"])
    source, target = corpus(c)
    kept = c["samples"]
    pairs = tf.data.Dataset.from_tensor_slices((source[kept:], target[kept:])).shuffle(2000, seed=c["seed"])
    pairs = pairs.batch(c["batch"], drop_remainder=True).prefetch(2)
    model = Cook(c)
    model((source[:1], target[:1, :-1]))
    model.compile(keras.optimizers.Adam(c["rate"]))
    print(model.count_params(), "weights")
    model.fit(pairs, epochs=c["epochs"], callbacks=[Samples(source[:kept], target[:kept])], verbose=0)


if __name__ == "__main__":
    main()
