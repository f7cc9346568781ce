"""Surrogate of a heat-exchanger simulation: a wide regression network, large batches, plain eager loop so that we can
set a breakpoint anywhere."""
import argparse
import json
import time

import numpy as np
import tensorflow as tf


def simulate(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 24)).astype("float32")
    flow = np.tanh(x[:, :8]).sum(1) * 0.3
    loss = (x[:, 8:16] ** 2).sum(1) * np.cos(x[:, 16])
    y = np.stack([flow, loss, flow * loss], 1) + 0.01 * rng.standard_normal((n, 3))
    return x, y.astype("float32")


class Surrogate(tf.Module):
    def __init__(self, sizes, seed=0):
        super().__init__()
        g = tf.random.Generator.from_seed(seed)
        self.ws = [tf.Variable(g.normal((a, b)) * (2.0 / a) ** 0.5) for a, b in zip(sizes[:-1], sizes[1:])]
        self.bs = [tf.Variable(tf.zeros(b)) for b in sizes[1:]]

    def __call__(self, x):
        for w, b in zip(self.ws[:-1], self.bs[:-1]):
            x = tf.nn.relu(tf.matmul(x, w) + b)
        return tf.matmul(x, self.ws[-1]) + self.bs[-1]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--samples", type=int, default=8192)
    p.add_argument("--batch", type=int, default=2048)
    p.add_argument("--width", type=int, default=1792)
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--lr", type=float, default=0.01)
    a = p.parse_args()
    x, y = simulate(a.samples, 0)
    x_val, y_val = simulate(1024, 1)
    net = Surrogate([24, a.width, a.width, a.width, a.width, 3])
    opt = tf.keras.optimizers.SGD(a.lr, momentum=0.9)
    rng = np.random.default_rng(2)
    log, step = [], 0
    for epoch in range(a.epochs):
        t = time.time()
        order = rng.permutation(len(x))
        for i in range(0, len(x), a.batch):
            xb, yb = tf.constant(x[order[i:i + a.batch]]), tf.constant(y[order[i:i + a.batch]])
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(net(xb) - yb))
            grads = tape.gradient(loss, net.trainable_variables)
            opt.apply_gradients(zip(grads, net.trainable_variables))
            step += 1
            log.append({"step": step, "loss": float(loss)})
        val = tf.reduce_mean(tf.square(net(x_val) - y_val))
        print("epoch %d step %d loss %.4f val %.4f (%.1fs)" % (epoch, step, loss, val, time.time() - t))
    with open("log.json", "w") as f:
        json.dump(log, f)
    print("%d updates" % step)


if __name__ == "__main__":
    main()
