#!/usr/bin/env python
# 1D heat equation u_t = k u_xx with a physics-informed network.
import numpy as np
import tensorflow as tf

tf.random.set_seed(11)
np.random.seed(11)

K = 0.1
N_COLL = 2000
N_BC = 500
STEPS = 50


def mlp(widths):
    net = tf.keras.Sequential([tf.keras.layers.InputLayer(shape=(2,))])
    for w in widths:
        net.add(tf.keras.layers.Dense(w, activation="tanh"))
    net.add(tf.keras.layers.Dense(1))
    return net


class HeatSolver:
    def __init__(self, lr=1e-3):
        self.net = mlp([96, 96, 96])
        self.opt = tf.keras.optimizers.Adam(lr)
        self.history = []
        self.grad_probe = {}

    def sample(self):
        xt = np.random.uniform([0, 0], [1, 1], (N_COLL, 2)).astype("float32")
        x0 = np.random.uniform(0, 1, (N_BC, 1)).astype("float32")
        ic = np.concatenate([x0, np.zeros_like(x0)], axis=1)
        tb = np.random.uniform(0, 1, (N_BC, 1)).astype("float32")
        edge = np.random.randint(0, 2, (N_BC, 1)).astype("float32")
        bc = np.concatenate([edge, tb], axis=1)
        return xt, ic, np.sin(np.pi * x0), bc

    def residual(self, xt):
        x, t = tf.split(tf.constant(xt), 2, axis=1)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape(persistent=True) as inner:
                inner.watch([x, t])
                u = self.net(tf.concat([x, t], axis=1))
            u_x = inner.gradient(u, x)
            u_t = inner.gradient(u, t)
        u_xx = outer.gradient(u_x, x)
        return u_t - K * u_xx

    def train_step(self, step):
        xt, ic, u0, bc = self.sample()
        weights = self.net.trainable_variables
        with tf.GradientTape(persistent=True) as tape:
            pde = tf.reduce_mean(tf.square(self.residual(xt)))
            init = tf.reduce_mean(tf.square(self.net(ic) - u0))
            edge = tf.reduce_mean(tf.square(self.net(bc)))
            loss = pde + 10.0 * init + 10.0 * edge
        self.opt.apply_gradients(zip(tape.gradient(loss, weights), weights))

        def term_norms():
            # gradient norm of every term, for the balance report at the end
            return [
                float(tf.linalg.global_norm(tape.gradient(term, weights)))
                for term in (pde, init, edge)
            ]

        self.grad_probe[step] = term_norms
        self.history.append((float(pde), float(init), float(edge)))

    def report(self):
        for step in sorted(self.grad_probe)[-3:]:
            print("grad norms at", step, ["%.3g" % n for n in self.grad_probe[step]()])


solver = HeatSolver()
for step in range(STEPS):
    solver.train_step(step)
    if step % 10 == 0:
        print(step, "pde %.4f init %.4f edge %.4f" % solver.history[-1])
solver.report()
