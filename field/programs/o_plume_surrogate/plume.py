"""Surrogate for a Gaussian plume model: release parameters -> concentrations on a sensor grid."""
import argparse
import time

import numpy as np
import tensorflow as tf

from gradlog import GradientLog


def plume(params, grid=16):
    q, u, theta, h, decay, rough = params.T[..., None, None]
    y, x = np.mgrid[-1:1:grid * 1j, 0.05:2:grid * 1j]
    xr = x * np.cos(theta) + y * np.sin(theta)
    yr = -x * np.sin(theta) + y * np.cos(theta)
    sy = 0.1 + rough * 0.3 * np.abs(xr)
    sz = 0.1 + 0.2 * np.abs(xr)
    c = q / (u * sy * sz) * np.exp(-0.5 * (yr / sy) ** 2 - 0.5 * (h / sz) ** 2 - decay * np.abs(xr))
    return np.log1p(np.where(xr > 0, c, 0.0))


def sample(n, seed):
    rng = np.random.default_rng(seed)
    low = np.array([0.5, 0.5, -0.6, 0.05, 0.0, 0.5])
    high = np.array([3.0, 4.0, 0.6, 0.5, 1.0, 1.5])
    p = rng.uniform(low, high, (n, 6))
    fields = plume(p).reshape(n, -1) + 0.01 * rng.standard_normal((n, 256))
    x = (p - low) / (high - low) * 2 - 1
    return x.astype("float32"), fields.astype("float32")


class Surrogate(tf.Module):
    def __init__(self, sizes, seed=0):
        super().__init__()
        init = tf.keras.initializers.GlorotUniform(seed=seed)
        self.ws, self.bs = [], []
        for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
            self.ws.append(tf.Variable(init((a, b)), name=f"w{i}"))
            self.bs.append(tf.Variable(tf.zeros(b), name=f"b{i}"))

    def __call__(self, x):
        for i, (w, b) in enumerate(zip(self.ws, self.bs)):
            x = x @ w + b
            if i < len(self.ws) - 1:
                x = tf.nn.silu(x)
        return x


def make_step(net, opt, variables):
    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            err = net(x) - y
            loss = tf.reduce_mean(tf.square(err))
        grads = tape.gradient(loss, variables)
        opt.apply_gradients(zip(grads, variables))
        return loss, grads
    return step


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--samples", type=int, default=32000)
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--width", type=int, default=384)
    ap.add_argument("--lr", type=float, default=1e-3)
    args = ap.parse_args()

    x, y = sample(args.samples, 0)
    xv, yv = sample(1000, 1)
    net = Surrogate([6, args.width, args.width, args.width, 256])
    variables = net.ws + net.bs
    opt = tf.keras.optimizers.Adam(args.lr)
    opt.build(variables)
    step = make_step(net, opt, variables)
    log = GradientLog([v.name for v in variables])

    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(4096, seed=3).batch(args.batch, drop_remainder=True)
    t0 = time.time()
    for epoch in range(args.epochs):
        for xb, yb in data.prefetch(2):
            loss, grads = step(xb, yb)
            log.add(grads, loss)
        val = float(tf.reduce_mean(tf.square(net(xv) - yv)))
        print(f"epoch {epoch}  train {log.recent_loss():.5f}  val {val:.5f}  {time.time() - t0:.1f}s")

    print(f"{'variable':10s} {'first':>10s} {'last':>10s} {'max':>10s}")
    for name, first, last, top in log.summary():
        print(f"{name:10s} {first:10.5f} {last:10.5f} {top:10.5f}")


if __name__ == "__main__":
    main()
