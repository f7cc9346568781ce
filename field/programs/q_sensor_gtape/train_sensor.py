"""Anomaly score for vibration sensors: an auto-encoder over windows, custom loop."""
import argparse
import datetime
import os

import numpy as np
import tensorflow as tf


def simulate(n, length=64, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(length, dtype=np.float32)
    f = rng.uniform(0.05, 0.4, (n, 1)).astype(np.float32)
    ph = rng.uniform(0, 6.28, (n, 1)).astype(np.float32)
    return (np.sin(f * t + ph) + 0.1 * rng.standard_normal((n, length))).astype(np.float32)


class AutoEncoder(tf.keras.Model):
    def __init__(self, length, width):
        super().__init__()
        self.enc = tf.keras.Sequential([tf.keras.layers.Dense(width, "relu"), tf.keras.layers.Dense(width // 4, "relu")])
        self.dec = tf.keras.Sequential([tf.keras.layers.Dense(width, "relu"), tf.keras.layers.Dense(length)])

    def call(self, x):
        return self.dec(self.enc(x))


class Trainer:
    def __init__(self, args):
        self.args = args
        self.net = AutoEncoder(args.length, args.width)
        self.opt = tf.keras.optimizers.Adam(args.lr)
        self.avg = tf.keras.metrics.Mean()
        stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
        self.writer = tf.summary.create_file_writer(os.path.join(args.logdir, stamp))
        x = simulate(args.windows, args.length)
        self.val = tf.constant(simulate(512, args.length, seed=9))
        self.ds = (tf.data.Dataset.from_tensor_slices(x)
                   .shuffle(args.windows, seed=2)
                   .map(self.jitter, num_parallel_calls=tf.data.AUTOTUNE)
                   .batch(args.batch, drop_remainder=True)
                   .repeat()
                   .prefetch(2))

    @staticmethod
    def jitter(w):
        return w * tf.random.uniform([], 0.8, 1.2)

    @tf.function
    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.math.squared_difference(self.net(x), x))
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
        return loss

    def next_batch(self):
        return next(iter(self.ds))

    def log(self, step, loss):
        with self.writer.as_default(step=step):
            tf.summary.scalar("loss", loss)
            for v in self.net.trainable_variables:
                tf.summary.histogram(v.path, v)

    def run(self):
        for step in range(1, self.args.steps + 1):
            loss = self.step(self.next_batch())
            self.avg.update_state(loss)
            self.log(step, loss)
            if step % 50 == 0:
                err = tf.reduce_mean(tf.math.squared_difference(self.net(self.val), self.val))
                print(f"step {step}: loss {self.avg.result():.4f} val {err:.4f}", flush=True)
                self.avg.reset_state()
        self.writer.close()
        print("trained", int(self.opt.iterations), "steps")


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--windows", type=int, default=30000)
    p.add_argument("--length", type=int, default=64)
    p.add_argument("--width", type=int, default=128)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--logdir", default="logs")
    return p.parse_args()


if __name__ == "__main__":
    tf.random.set_seed(1)
    Trainer(parse()).run()
