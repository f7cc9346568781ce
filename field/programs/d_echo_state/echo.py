"""Echo state network on the Mackey-Glass series (reservoir + ridge read-out, no back-propagation)."""
import argparse

import numpy as np
import tensorflow as tf


def mackey_glass(n, tau=17, seed=0):
    rng = np.random.default_rng(seed)
    x = 1.2 + 0.1 * rng.normal(size=n + tau)
    for t in range(tau, n + tau - 1):
        x[t + 1] = x[t] + 0.2 * x[t - tau] / (1 + x[t - tau] ** 10) - 0.1 * x[t]
    return x[tau:].astype(np.float32)


class Reservoir(tf.Module):
    def __init__(self, size, leak=0.6, radius=0.9, seed=3):
        super().__init__()
        rng = np.random.default_rng(seed)
        w = rng.normal(size=(size, size)) * (rng.random((size, size)) < 0.1)
        w *= radius / np.sqrt(np.var(w) * size)
        self.w = tf.constant(w, tf.float32)
        self.w_in = tf.constant(rng.uniform(-0.5, 0.5, (1, size)), tf.float32)
        self.leak = leak

    @tf.function
    def states(self, signal):
        state = tf.zeros([1, self.w.shape[0]])
        collected = []
        for t in range(signal.shape[0]):
            drive = tf.reshape(signal[t], [1, 1]) @ self.w_in + state @ self.w
            state = (1.0 - self.leak) * state + self.leak * tf.tanh(drive)
            collected.append(state[0])
        return tf.stack(collected)


def ridge(features, target, penalty):
    gram = tf.matmul(features, features, transpose_a=True)
    gram += penalty * tf.eye(features.shape[1])
    return tf.linalg.solve(gram, tf.matmul(features, target, transpose_a=True))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--length", type=int, default=600)
    p.add_argument("--size", type=int, default=150)
    p.add_argument("--washout", type=int, default=100)
    p.add_argument("--penalty", type=float, default=1e-4)
    a = p.parse_args()

    series = mackey_glass(2 * a.length + 1)
    reservoir = Reservoir(a.size)
    train = reservoir.states(tf.constant(series[:a.length]))[a.washout:]
    w_out = ridge(train, series[a.washout + 1:a.length + 1, None], a.penalty)

    test = reservoir.states(tf.constant(series[a.length:2 * a.length]))[a.washout:]
    error = tf.matmul(test, w_out)[:, 0] - series[a.length + a.washout + 1:2 * a.length + 1]
    print("one step NRMSE %.5f" % float(tf.math.reduce_std(error) / np.std(series)))


if __name__ == "__main__":
    main()
