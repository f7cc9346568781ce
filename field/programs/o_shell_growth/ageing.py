"""Age of bivalve shells from growth-ring profiles, denoising + regression in one model."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

from repro import Reproducible, describe, fix_everything

SEED = 2024
LENGTH = 192


def profiles(n, seed):
    rng = np.random.default_rng(seed)
    age = rng.uniform(2, 25, n)
    pos = np.linspace(0, 1, LENGTH)
    growth = 1 - np.exp(-3 * pos)[None] * rng.uniform(0.8, 1.0, (n, 1))
    rings = np.cos(2 * np.pi * age[:, None] * growth + rng.uniform(0, 6, (n, 1)))
    prof = 0.6 * rings * (1 - 0.5 * pos) + 0.25 * rng.standard_normal((n, LENGTH))
    return prof[..., None].astype("float32"), (age / 25).astype("float32")[:, None]


class RingModel(keras.Model):
    def __init__(self, noise=0.1, alpha=0.3, **kw):
        super().__init__(**kw)
        self.noise, self.alpha = noise, alpha
        self.encoder = keras.Sequential([
            layers.Conv1D(24, 7, strides=2, padding="same", activation="relu"),
            layers.SpatialDropout1D(0.1),
            layers.Conv1D(48, 5, strides=2, padding="same", activation="relu"),
            layers.Dropout(0.1),
            layers.Conv1D(48, 5, strides=2, padding="same", activation="relu"),
        ])
        self.decoder = keras.Sequential([
            layers.Conv1DTranspose(48, 5, strides=2, padding="same", activation="relu"),
            layers.Conv1DTranspose(24, 5, strides=2, padding="same", activation="relu"),
            layers.Conv1DTranspose(1, 7, strides=2, padding="same"),
        ])
        self.head = keras.Sequential([layers.GlobalAveragePooling1D(), layers.Dense(64, activation="relu"),
                                      layers.Dropout(0.2), layers.Dense(1)])
        self.age_mae = keras.metrics.MeanAbsoluteError(name="age_mae")
        self.total = keras.metrics.Mean(name="loss")

    @property
    def metrics(self):
        return [self.total, self.age_mae]

    def call(self, x, training=False):
        return self.head(self.encoder(x, training=training), training=training)

    def losses_for(self, x, y, training):
        seen = x + tf.random.normal(tf.shape(x), stddev=self.noise) if training else x
        z = self.encoder(seen, training=training)
        age = self.head(z, training=training)
        rec = ops.mean(ops.square(self.decoder(z, training=training) - x))
        return ops.mean(ops.square(age - y)) + self.alpha * rec, age

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss, age = self.losses_for(x, y, True)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        self.total.update_state(loss)
        self.age_mae.update_state(y, age)
        return {m.name: m.result() for m in self.metrics}

    def test_step(self, data):
        x, y = data
        loss, age = self.losses_for(x, y, False)
        self.total.update_state(loss)
        self.age_mae.update_state(y, age)
        return {m.name: m.result() for m in self.metrics}


def main(epochs=2, batch=64):
    fix_everything(SEED)
    x, y = profiles(2560, 1)
    xv, yv = profiles(640, 2)
    model = RingModel(name="rings")
    model.compile(optimizer=keras.optimizers.Adam(2e-3))
    hist = model.fit(x, y, batch_size=batch, epochs=epochs, validation_data=(xv, yv),
                     callbacks=[Reproducible(SEED)], verbose=2)
    print(describe(model))
    print("years off:", round(25 * hist.history["val_age_mae"][-1], 2))


if __name__ == "__main__":
    main()
