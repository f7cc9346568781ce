"""Walk-forward forecast of hourly consumption: refit a little on every new day, then predict the next one."""
import gc

import numpy as np
import tensorflow as tf

WINDOW = 48
DAYS = 48
WARMUP_DAYS = 30


def consumption(hours, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    base = np.sin(2 * np.pi * t / 24) + 0.4 * np.sin(2 * np.pi * t / (24 * 7))
    return (base + 0.1 * rng.normal(size=hours)).astype("float32")


def windows(series, start, stop):
    xs = np.stack([series[h - WINDOW:h] for h in range(start, stop)])[..., None]
    return tf.constant(xs), tf.constant(series[start:stop, None])


class Forecaster:
    def __init__(self):
        self.net = tf.keras.Sequential([
            tf.keras.Input((WINDOW, 1)),
            tf.keras.layers.LSTM(32),
            tf.keras.layers.Dense(1),
        ])
        self.optimizer = tf.keras.optimizers.Adam(2e-3)
        self.optimizer.build(self.net.trainable_variables)

    @tf.function
    def learn(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.net(x, training=True) - y) ** 2)
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.net.trainable_variables))
        return loss

    @tf.function
    def predict(self, x):
        return self.net(x, training=False)


def main():
    tf.keras.utils.set_random_seed(1)
    series = consumption(24 * DAYS)
    model = Forecaster()
    errors = []
    for day in range(WARMUP_DAYS, DAYS):
        now = day * 24
        x, y = windows(series, now - 24, now)
        for _ in range(3):
            loss = model.learn(x, y)
        nx, ny = windows(series, now - 24 if day == DAYS - 1 else now, now if day == DAYS - 1 else now + 24)
        err = float(tf.reduce_mean(tf.abs(model.predict(nx) - ny)))
        errors.append(err)
        if day % 4 == 0:
            print("day %d  loss %.4f  next-day mae %.4f" % (day, float(loss), err))
        tf.keras.backend.clear_session()
        gc.collect()
    print("mean mae %.4f" % np.mean(errors))


if __name__ == "__main__":
    main()
