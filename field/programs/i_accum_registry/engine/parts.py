import numpy as np
import tensorflow as tf

from .registry import DATASETS, MODELS


@MODELS.register("mixer")
def mixer(tokens, channels, depth, classes, vocab):
    inp = tf.keras.Input((tokens,), dtype="int32")
    x = tf.keras.layers.Embedding(vocab, channels)(inp)
    for _ in range(depth):
        y = tf.keras.layers.Permute((2, 1))(tf.keras.layers.LayerNormalization()(x))
        y = tf.keras.layers.Dense(tokens, activation="gelu")(y)
        x = x + tf.keras.layers.Permute((2, 1))(y)
        y = tf.keras.layers.Dense(2 * channels, activation="gelu")(tf.keras.layers.LayerNormalization()(x))
        x = x + tf.keras.layers.Dense(channels)(y)
    return tf.keras.Model(inp, tf.keras.layers.Dense(classes)(tf.keras.layers.GlobalAveragePooling1D()(x)))


@DATASETS.register("motifs")
def motifs(count, tokens, vocab, classes, batch, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, count)
    x = rng.integers(classes, vocab, (count, tokens))
    for slot in range(4):
        x[np.arange(count), rng.integers(0, tokens, count)] = y
    ds = tf.data.Dataset.from_tensor_slices((x.astype(np.int32), y.astype(np.int32)))
    return ds.shuffle(count, seed=seed).repeat().batch(batch).prefetch(2)
