"""Contrastive pretraining of a small patch encoder (two augmented views, NT-Xent)."""
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

from probe import Probe

SIDE, CLASSES = 20, 8


def patches(n, seed):
    """Stripes whose direction is the class, on a noisy ground."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, n)
    a = y * np.pi / CLASSES + rng.normal(0, 0.06, n)
    r, c = np.mgrid[:SIDE, :SIDE]
    wave = np.cos(a)[:, None, None] * r + np.sin(a)[:, None, None] * c
    x = np.sin(0.9 * wave + rng.uniform(0, 6.28, (n, 1, 1))) + rng.normal(0, 0.5, (n, SIDE, SIDE))
    return x[..., None].astype("float32"), y.astype("int64")


def encoder(width=96):
    return keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 1)),
            layers.Conv2D(12, 5, strides=2, activation="relu"),
            layers.Conv2D(24, 3, strides=2, activation="relu"),
            layers.Flatten(),
            layers.Dense(width),
        ]
    )


class Contrast(keras.Model):
    def __init__(self, encoder, temperature=0.2):
        super().__init__()
        self.encoder, self.temperature = encoder, temperature
        self.head = layers.Dense(32)

    def view(self, x):
        shift = tf.random.uniform((2,), -3, 4, tf.int32)
        return tf.roll(x, shift, axis=(1, 2)) + tf.random.normal(tf.shape(x), stddev=0.3)

    def call(self, x):
        return tf.math.l2_normalize(self.head(self.encoder(x)), axis=1)

    def train_step(self, x):
        n = tf.shape(x)[0]
        with tf.GradientTape() as tape:
            z = self(tf.concat([self.view(x), self.view(x)], 0))
            logits = tf.matmul(z, z, transpose_b=True) / self.temperature
            logits -= 1e9 * tf.eye(2 * n)
            partner = tf.concat([tf.range(n, 2 * n), tf.range(n)], 0)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(partner, logits))
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}


class Report(keras.callbacks.Callback):
    def __init__(self, probe, net):
        super().__init__()
        self.probe, self.net = probe, net

    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch + 1}: loss {logs['loss']:.4f}  probe {self.probe.accuracy(self.net):.3f}")


def main():
    keras.utils.set_random_seed(6)
    x, _ = patches(4096, 1)
    bank, queries = patches(2400, 2), patches(700, 3)
    probe = Probe(*bank, *queries, CLASSES)
    net = encoder()
    model = Contrast(net)
    model.compile(optimizer=keras.optimizers.Adam(1e-3))
    feed = tf.data.Dataset.from_tensor_slices(x).shuffle(4096, seed=1).batch(128, drop_remainder=True)
    model.fit(feed, epochs=4, verbose=0, callbacks=[Report(probe, net)])


if __name__ == "__main__":
    main()
