"""Model-agnostic meta-learning on sine waves (Finn et al. 2017), functional weights."""
import argparse

import numpy as np
import tensorflow as tf


def init_weights(hidden=40):
    sizes = [1, hidden, hidden, 1]
    out = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        out.append(tf.Variable(tf.random.truncated_normal([a, b], stddev=(2.0 / (a + b)) ** 0.5)))
        out.append(tf.Variable(tf.zeros([b])))
    return out


def forward(w, x):
    h = tf.nn.relu(x @ w[0] + w[1])
    h = tf.nn.relu(h @ w[2] + w[3])
    return h @ w[4] + w[5]


def mse(w, x, y):
    return tf.reduce_mean((forward(w, x) - y) ** 2)


def adapt(w, x, y, inner_lr, inner_steps):
    fast = [tf.identity(v) for v in w]
    for _ in range(inner_steps):
        with tf.GradientTape() as tape:
            tape.watch(fast)
            loss = mse(fast, x, y)
        grads = tape.gradient(loss, fast)
        fast = [v - inner_lr * g for v, g in zip(fast, grads)]
    return fast


class Sines:
    def __init__(self, shots, seed):
        self.shots, self.rng = shots, np.random.RandomState(seed)

    def task(self):
        amp, phase = self.rng.uniform(0.1, 5.0), self.rng.uniform(0, np.pi)
        x = self.rng.uniform(-5, 5, (2 * self.shots, 1)).astype(np.float32)
        y = (amp * np.sin(x - phase)).astype(np.float32)
        s = self.shots
        return tf.constant(x[:s]), tf.constant(y[:s]), tf.constant(x[s:]), tf.constant(y[s:])


def meta_step(weights, optimizer, tasks, inner_lr, inner_steps):
    with tf.GradientTape() as tape:
        losses = []
        for xs, ys, xq, yq in tasks:
            fast = adapt(weights, xs, ys, inner_lr, inner_steps)
            losses.append(mse(fast, xq, yq))
        loss = tf.add_n(losses) / len(losses)
    grads = tape.gradient(loss, weights)
    optimizer.apply_gradients(zip(grads, weights))
    return loss


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--iterations", type=int, default=60)
    p.add_argument("--tasks", type=int, default=5)
    p.add_argument("--shots", type=int, default=10)
    p.add_argument("--inner-steps", type=int, default=3)
    p.add_argument("--inner-lr", type=float, default=0.01)
    a = p.parse_args()

    tf.random.set_seed(1)
    sines = Sines(a.shots, 1)
    weights = init_weights()
    optimizer = tf.keras.optimizers.Adam(1e-3)
    smooth = 0.0
    for it in range(a.iterations):
        tasks = [sines.task() for _ in range(a.tasks)]
        loss = meta_step(weights, optimizer, tasks, a.inner_lr, a.inner_steps)
        smooth = 0.9 * smooth + 0.1 * float(loss)
        if it % 15 == 14:
            print("meta iteration %d  query loss %.4f" % (it + 1, smooth / (1 - 0.9 ** (it + 1))))
