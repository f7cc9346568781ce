import time

import keras
import numpy as np
import tensorflow as tf

from cells import LeakyGate

STEPS = 80           # 20 hours of 15 minute readings
BATCH = 64


class GateNet(keras.Model):
    def __init__(self, units=24):
        super().__init__()
        self.low = LeakyGate(units, return_sequences=True)
        self.high = LeakyGate(units)
        self.head = keras.layers.Dense(2)
        self.nll = keras.metrics.Mean(name="nll")

    def call(self, x):
        return self.head(self.high(self.low(x)))

    def loss_of(self, x, y):
        mean, log_var = tf.split(self(x), 2, axis=-1)
        return tf.reduce_mean(0.5 * log_var + 0.5 * tf.square(y - mean) * tf.exp(-log_var))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.loss_of(x, y)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        self.nll.update_state(loss)
        return {"nll": self.nll.result()}

    def test_step(self, data):
        self.nll.update_state(self.loss_of(*data))
        return {"nll": self.nll.result()}

    @property
    def metrics(self):
        return [self.nll]


def water_levels(n, seed=0):
    rng = np.random.default_rng(seed)
    phase = rng.uniform(0, 2 * np.pi, (n, 2, 1))
    t = np.arange(STEPS + 8)[None]
    level = np.sin(2 * np.pi * t / 49.7 + phase[:, 0]) + 0.3 * np.sin(2 * np.pi * t / 96 + phase[:, 1])
    surge = np.cumsum(rng.normal(0, 0.04, level.shape), axis=1)
    rain = np.abs(rng.normal(0, 1, level.shape)) * 0.1
    series = np.stack([level + surge, rain, np.gradient(level, axis=1)], -1).astype("float32")
    return series[:, :STEPS], series[:, -1, :1]


if __name__ == "__main__":
    keras.utils.set_random_seed(1)
    x, y = water_levels(1600)
    train = tf.data.Dataset.from_tensor_slices((x[:1280], y[:1280])).shuffle(1280, seed=4)
    train = train.batch(BATCH, drop_remainder=True).prefetch(2)
    val = tf.data.Dataset.from_tensor_slices((x[1280:], y[1280:])).batch(BATCH, drop_remainder=True)

    net = GateNet()
    net.compile(optimizer=keras.optimizers.Adam(3e-3, clipnorm=1.0))
    begin = time.perf_counter()
    for_log = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda e, logs: print(f"{time.perf_counter() - begin:6.1f}s epoch {e} {logs}")
    )
    net.fit(train, validation_data=val, epochs=6, verbose=0, callbacks=[for_log])
    print("leak of the first units:", np.round(np.exp(-np.log1p(np.exp(net.low.log_tau.numpy()[:5]))), 3))
