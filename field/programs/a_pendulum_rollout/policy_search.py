"""Policy search by backpropagation through a differentiable pendulum."""
import argparse
import math

import tensorflow as tf


class Pendulum:
    def __init__(self, dt=0.02, g=9.81, length=1.0, friction=0.05):
        self.dt, self.g, self.length, self.friction = dt, g, length, friction

    def step(self, state, torque):
        theta, omega = state[:, :1], state[:, 1:]
        acc = self.g / self.length * tf.sin(theta) - self.friction * omega + torque
        omega = tf.clip_by_value(omega + self.dt * acc, -10.0, 10.0)
        return tf.concat([theta + self.dt * omega, omega], axis=1)

    def cost(self, state, torque):
        return (1.0 - tf.cos(state[:, 0])) + 0.01 * state[:, 1] ** 2 + 0.001 * torque[:, 0] ** 2


def features(state):
    return tf.concat([tf.sin(state[:, :1]), tf.cos(state[:, :1]), state[:, 1:]], axis=1)


class Search:
    def __init__(self, horizon, batch, lr):
        self.env = Pendulum()
        self.horizon, self.batch = horizon, batch
        self.w1 = tf.Variable(tf.random.normal([3, 32], stddev=0.5))
        self.b1 = tf.Variable(tf.zeros([32]))
        self.w2 = tf.Variable(tf.random.normal([32, 1], stddev=0.1))
        self.params = [self.w1, self.b1, self.w2]
        self.opt = tf.keras.optimizers.Adam(lr)
        self.opt.build(self.params)

    def policy(self, state):
        return 5.0 * tf.tanh(tf.matmul(tf.tanh(tf.matmul(features(state), self.w1) + self.b1), self.w2))

    @tf.function
    def update(self, state):
        with tf.GradientTape() as tape:
            total = tf.zeros([self.batch])
            for t in range(self.horizon):
                torque = self.policy(state)
                total += self.env.cost(state, torque)
                state = self.env.step(state, torque)
            loss = tf.reduce_mean(total) / self.horizon
        grads = tape.gradient(loss, self.params)
        grads, norm = tf.clip_by_global_norm(grads, 1.0)
        self.opt.apply_gradients(zip(grads, self.params))
        return loss, norm


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iterations", type=int, default=12)
    p.add_argument("--horizon", type=int, default=80)
    p.add_argument("--batch", type=int, default=64)
    a = p.parse_args()
    tf.random.set_seed(2)
    search = Search(a.horizon, a.batch, 1e-2)
    for it in range(a.iterations):
        theta = tf.random.uniform([a.batch, 1], -0.4, 0.4) + math.pi * 0.1
        start = tf.concat([theta, tf.zeros_like(theta)], axis=1)
        loss, norm = search.update(start)
        print("iteration %d  cost %.4f  grad norm %.3f" % (it, loss, norm))


if __name__ == "__main__":
    main()
