"""Counts blobs in pictures; the pictures grow during the training (progressive resizing)."""
import collections

import numpy as np
import tensorflow as tf

Stage = collections.namedtuple("Stage", "size steps rate")
STAGES = [Stage(24, 60, 2e-3), Stage(36, 50, 1e-3), Stage(48, 40, 5e-4)]
BATCH = 48


def pictures(rng, n, size):
    grid = np.mgrid[0:1:size * 1j, 0:1:size * 1j]
    count = rng.integers(1, 7, n)
    canvas = np.zeros((n, size, size), np.float32)
    for k in range(6):
        c = rng.random((n, 2, 1, 1))
        spot = np.exp(-((grid[0] - c[:, 0]) ** 2 + (grid[1] - c[:, 1]) ** 2) / 0.004)
        canvas += np.where((k < count)[:, None, None], spot, 0).astype(np.float32)
    return canvas[..., None], count.astype(np.float32)


class Counter(tf.keras.Model):
    def __init__(self):
        super().__init__()
        L = tf.keras.layers
        self.body = [L.Conv2D(48, 3, padding="same", activation="relu"), L.Conv2D(64, 3, padding="same", activation="relu"),
                     L.Conv2D(64, 3, strides=2, padding="same", activation="relu"), L.Conv2D(64, 3, padding="same", activation="relu")]
        self.drop = L.Dropout(0.1)
        self.head = L.Dense(1)

    def call(self, x, training=False):
        for layer in self.body:
            x = layer(x)
        x = tf.reduce_sum(x, [1, 2]) / 100.0
        return self.head(self.drop(x, training=training))[:, 0]


class Trainer:
    def __init__(self):
        self.model = Counter()
        self.model(tf.zeros([1, 24, 24, 1]))
        self.opt = tf.keras.optimizers.Adam()
        self.opt.build(self.model.trainable_variables)
        self.mae = tf.keras.metrics.MeanAbsoluteError()
        self.curve = []

    @tf.function
    def step(self, x, y, train):
        with tf.GradientTape() as tape:
            guess = self.model(x, training=train)
            loss = tf.reduce_mean(tf.keras.losses.huber(y[:, None], guess[:, None]))
        if train:
            grads = tape.gradient(loss, self.model.trainable_variables)
            self.opt.apply_gradients(zip(grads, self.model.trainable_variables))
        self.mae.update_state(y, guess)
        return loss

    def stage(self, stage, rng):
        self.opt.learning_rate.assign(stage.rate)
        x, y = pictures(rng, 1000, stage.size)
        train = tf.data.Dataset.from_tensor_slices((x[:900], y[:900])).shuffle(900, seed=1).repeat().batch(BATCH).take(stage.steps)
        self.mae.reset_state()
        for xb, yb in train:
            self.curve.append(self.step(xb, yb, True).numpy())
        fitted = float(self.mae.result())
        self.mae.reset_state()
        for k in range(900, 1000, 50):
            self.step(tf.constant(x[k:k + 50]), tf.constant(y[k:k + 50]), False)
        print("size %d  train mae %.3f  valid mae %.3f  loss %.4f" % (stage.size, fitted, self.mae.result(), np.mean(self.curve[-20:])))


if __name__ == "__main__":
    tf.keras.utils.set_random_seed(14)
    trainer, rng = Trainer(), np.random.default_rng(14)
    for s in STAGES:
        trainer.stage(s, rng)
