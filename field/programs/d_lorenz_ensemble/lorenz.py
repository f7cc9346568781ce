"""Integrate an ensemble of Lorenz-63 trajectories with RK4 and estimate the spread growth."""

import argparse

import tensorflow as tf


class Lorenz:
    def __init__(self, sigma=10.0, rho=28.0, beta=8.0 / 3.0):
        self.sigma = tf.constant(sigma)
        self.rho = tf.constant(rho)
        self.beta = tf.constant(beta)

    def __call__(self, state):
        x, y, z = tf.unstack(state, axis=-1)
        dx = self.sigma * (y - x)
        dy = x * (self.rho - z) - y
        dz = x * y - self.beta * z
        return tf.stack([dx, dy, dz], axis=-1)


def rk4_step(f, state, dt):
    k1 = f(state)
    k2 = f(state + 0.5 * dt * k1)
    k3 = f(state + 0.5 * dt * k2)
    k4 = f(state + dt * k3)
    return state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def integrate(f, state, dt, steps):
    for _ in range(steps):
        state = rk4_step(f, state, dt)
    return state


def spread(state):
    return tf.sqrt(tf.reduce_mean(tf.math.reduce_variance(state, axis=0)))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--members", type=int, default=256)
    p.add_argument("--segments", type=int, default=20)
    p.add_argument("--segment-steps", type=int, default=300)
    p.add_argument("--dt", type=float, default=0.005)
    a = p.parse_args()

    tf.random.set_seed(8)
    system = Lorenz()
    dt = tf.constant(a.dt)
    state = tf.constant([1.0, 1.0, 1.0]) + 1e-3 * tf.random.normal([a.members, 3])
    start = spread(state)
    for segment in range(a.segments):
        state = integrate(system, state, dt, a.segment_steps)
        t = (segment + 1) * a.segment_steps * a.dt
        print(f"t={t:6.2f}  spread growth {float(spread(state) / start):12.3f}")


if __name__ == "__main__":
    main()
