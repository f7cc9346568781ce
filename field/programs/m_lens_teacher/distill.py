import csv
import os
import tempfile

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(31)


def sky(n, side, seed):
    rng = np.random.default_rng(seed)
    g = np.linspace(-1, 1, side, dtype="float32")
    yy, xx = np.meshgrid(g, g, indexing="ij")
    y = rng.integers(0, 3, n)
    c = rng.uniform(-0.2, 0.2, (n, 2, 1, 1))
    r = np.sqrt((xx - c[:, 0]) ** 2 + (yy - c[:, 1]) ** 2)
    a = np.arctan2(yy - c[:, 1], xx - c[:, 0])
    core = np.exp(-r ** 2 * 20)
    ring = np.exp(-(r - 0.5) ** 2 * 80)
    arc = ring * (np.cos(a - rng.uniform(0, 6.28, (n, 1, 1))) > 0.5)
    img = core + 0.6 * ring * (y == 1)[:, None, None] + 0.6 * arc * (y == 2)[:, None, None]
    img += rng.normal(0, 0.25, img.shape)
    return img[..., None].astype("float32"), y.astype("int32")


class ConvBlock(layers.Layer):
    def __init__(self, width, **kw):
        super().__init__(**kw)
        self.a = layers.Conv2D(width, 3, padding="same", use_bias=False)
        self.b = layers.BatchNormalization(momentum=0.8)
        self.pool = layers.MaxPooling2D()

    def call(self, x, training=False):
        return self.pool(tf.nn.relu(self.b(self.a(x), training=training)))


class Finder(keras.Model):
    def __init__(self, widths, **kw):
        super().__init__(**kw)
        self.parts = [ConvBlock(w) for w in widths]
        self.pool = layers.GlobalAveragePooling2D()
        self.out = layers.Dense(3)

    def call(self, x, training=False):
        for p in self.parts:
            x = p(x, training=training)
        return self.out(self.pool(x))


class Distiller(keras.Model):
    def __init__(self, teacher, student, T=4.0, alpha=0.3):
        super().__init__()
        self.teacher, self.student, self.T, self.alpha = teacher, student, T, alpha
        self.teacher.trainable = False
        self.jitter = keras.Sequential([
            layers.RandomFlip("horizontal_and_vertical", seed=5),
            layers.RandomTranslation(0.1, 0.1, fill_mode="constant", seed=6),
        ])
        self.m_loss = keras.metrics.Mean(name="loss")
        self.m_acc = keras.metrics.SparseCategoricalAccuracy(name="acc")

    @property
    def metrics(self):
        return [self.m_loss, self.m_acc]

    def call(self, x, training=False):
        return self.student(x, training=training)

    def train_step(self, batch):
        x, y = batch
        x = self.jitter(x, training=True)
        soft = tf.nn.softmax(self.teacher(x, training=False) / self.T)
        with tf.GradientTape() as tape:
            logits = self.student(x, training=True)
            hard = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
            kd = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=soft, logits=logits / self.T))
            loss = self.alpha * hard + (1 - self.alpha) * self.T ** 2 * kd
        w = self.student.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, w), w))
        self.m_loss.update_state(loss)
        self.m_acc.update_state(y, logits)
        return {m.name: m.result() for m in self.metrics}

    def test_step(self, batch):
        x, y = batch
        self.m_acc.update_state(y, self.student(x, training=False))
        return {"acc": self.m_acc.result()}


class ErrorTable(keras.callbacks.Callback):
    """confusion of the student after each epoch, for the appendix"""

    def __init__(self, x, y, path):
        super().__init__()
        self.x, self.y, self.path = x, y, path

    def on_epoch_end(self, epoch, logs=None):
        guess = self.model.predict(self.x, batch_size=128, verbose=0).argmax(1)
        table = np.zeros((3, 3), int)
        np.add.at(table, (self.y, guess), 1)
        with open(self.path, "a", newline="") as f:
            csv.writer(f).writerow([epoch] + table.ravel().tolist())
        print("epoch", epoch, {k: round(float(v), 3) for k, v in logs.items()}, table.tolist())


if __name__ == "__main__":
    x, y = sky(1024, 48, 0)
    xv, yv = sky(256, 48, 1)
    make = lambda a, b: tf.data.Dataset.from_tensor_slices((a, b)).cache()
    train = make(x, y).shuffle(1024, seed=2).batch(64, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    val = make(xv, yv).batch(128)

    teacher = Finder([48, 64, 96], name="teacher")
    teacher.compile(keras.optimizers.Adam(2e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    h = teacher.fit(train, epochs=3, verbose=0)
    print("teacher accuracy", round(h.history["accuracy"][-1], 3))

    with tempfile.TemporaryDirectory() as tmp:
        d = Distiller(teacher, Finder([12, 24, 32], name="student"))
        d.compile(optimizer=keras.optimizers.Adam(1e-2))
        d.fit(
            train, validation_data=val, epochs=7, verbose=0,
            callbacks=[
                ErrorTable(xv, yv, os.path.join(tmp, "table.csv")),
                keras.callbacks.ModelCheckpoint(os.path.join(tmp, "best.weights.h5"), monitor="val_acc", mode="max",
                                                save_best_only=True, save_weights_only=True),
            ],
        )
        print(open(os.path.join(tmp, "table.csv")).read().splitlines()[-1])
