"""Physics-informed network for -laplace(u) = f on the unit square."""
import math
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

tf.keras.backend.set_floatx("float64")


@dataclass
class Setup:
    width: int = 160
    depth: int = 4
    interior: int = 2000
    boundary: int = 400
    outer: int = 12
    inner: int = 4
    lr: float = 1e-3


class Net(tf.keras.Model):
    def __init__(self, s):
        super().__init__()
        self.hidden = [tf.keras.layers.Dense(s.width, activation="tanh") for _ in range(s.depth)]
        self.last = tf.keras.layers.Dense(1)

    def call(self, xy):
        h = xy
        for layer in self.hidden:
            h = layer(h)
        return self.last(h)


def source(xy):
    return 2 * math.pi ** 2 * tf.sin(math.pi * xy[:, :1]) * tf.sin(math.pi * xy[:, 1:])


def residual(net, xy):
    with tf.GradientTape() as t2:
        t2.watch(xy)
        with tf.GradientTape() as t1:
            t1.watch(xy)
            u = net(xy)
        du = t1.gradient(u, xy)
    lap = t2.gradient(du, xy)
    return -tf.reduce_sum(lap, axis=1, keepdims=True) - source(xy)


def sample(s, rng):
    inside = rng.random((s.interior, 2))
    edge = rng.random((s.boundary, 2))
    side = rng.integers(0, 4, s.boundary)
    edge[np.arange(s.boundary), side % 2] = side // 2
    return tf.constant(inside), tf.constant(edge)


def fit_round(net, opt, inside, edge, n):
    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(residual(net, inside) ** 2) + 50.0 * tf.reduce_mean(net(edge) ** 2)
        grads = tape.gradient(loss, net.trainable_variables)
        opt.apply_gradients(zip(grads, net.trainable_variables))
        return loss

    for _ in range(n):
        loss = step()
    return loss


def main():
    s = Setup()
    tf.random.set_seed(5)
    rng = np.random.default_rng(5)
    net = Net(s)
    net(tf.zeros((1, 2), tf.keras.backend.floatx()))
    opt = tf.keras.optimizers.Adam(s.lr)
    opt.build(net.trainable_variables)
    for k in range(s.outer):
        inside, edge = sample(s, rng)
        loss = fit_round(net, opt, inside, edge, s.inner)
        print("resample %2d  loss %.4e" % (k, float(loss)))
    print("u(0.5, 0.5) =", float(net(tf.constant([[0.5, 0.5]], tf.keras.backend.floatx()))[0, 0]))


if __name__ == "__main__":
    main()
