"""Physics-informed network for the viscous Burgers equation

    u_t + u u_x = nu u_xx,   x in [-1, 1], t in [0, 1],   u(0, x) = -sin(pi x),  u(t, +-1) = 0

usage: python burgers.py [--hidden 64] [--depth 6] [--collocation 6000]
"""
import argparse
import time

import numpy as np
import tensorflow as tf

tf.keras.backend.set_floatx("float64")


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--depth", type=int, default=6)
    p.add_argument("--collocation", type=int, default=5000)
    p.add_argument("--boundary", type=int, default=400)
    p.add_argument("--iterations", type=int, default=120)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--nu", type=float, default=0.01 / np.pi)
    return p.parse_args()


def network(hidden, depth):
    inp = tf.keras.Input((2,))
    h = inp
    for _ in range(depth):
        h = tf.keras.layers.Dense(hidden, activation="tanh", kernel_initializer="glorot_normal")(h)
    return tf.keras.Model(inp, tf.keras.layers.Dense(1)(h))


class Burgers:
    def __init__(self, args):
        self.nu = args.nu
        self.net = network(args.hidden, args.depth)
        self.opt = tf.keras.optimizers.Adam(args.lr)
        dtype = tf.keras.backend.floatx()
        rng = np.random.default_rng(0)
        tx = rng.uniform((0, -1), (1, 1), (args.collocation, 2))
        x0 = rng.uniform(-1, 1, args.boundary)
        tb = rng.uniform(0, 1, args.boundary)
        side = rng.choice([-1.0, 1.0], args.boundary)
        known = np.concatenate([np.stack([0 * x0, x0], 1), np.stack([tb, side], 1)])
        value = np.concatenate([-np.sin(np.pi * x0), 0 * tb])[:, None]
        self.t = tf.constant(tx[:, :1], dtype)
        self.x = tf.constant(tx[:, 1:], dtype)
        self.known = tf.constant(known, dtype)
        self.value = tf.constant(value, dtype)

    def residual(self):
        with tf.GradientTape() as outer:
            outer.watch(self.x)
            with tf.GradientTape(persistent=True) as inner:
                inner.watch([self.t, self.x])
                u = self.net(tf.concat([self.t, self.x], 1))
            u_t = inner.gradient(u, self.t)
            u_x = inner.gradient(u, self.x)
        u_xx = outer.gradient(u_x, self.x)
        return u_t + u * u_x - self.nu * u_xx

    @tf.function
    def step(self):
        with tf.GradientTape() as tape:
            physics = tf.reduce_mean(tf.square(self.residual()))
            data = tf.reduce_mean(tf.square(self.net(self.known) - self.value))
            loss = physics + data
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
        return loss, physics, data


if __name__ == "__main__":
    args = parse()
    tf.keras.utils.set_random_seed(1)
    problem = Burgers(args)
    begin = time.time()
    for it in range(1, args.iterations + 1):
        loss, physics, data = problem.step()
        if it % 20 == 0:
            print(f"it {it:4d}  loss {loss:.4e}  pde {physics:.4e}  data {data:.4e}  {time.time() - begin:.1f}s")
