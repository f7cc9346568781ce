"""DDPG for a two-joint arm that has to reach a target."""
import argparse
import os
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras


class Arm:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.q = self.rng.uniform(-np.pi, np.pi, 2)
        r, a = self.rng.uniform(0.4, 1.6), self.rng.uniform(-np.pi, np.pi)
        self.goal = np.array([r * np.cos(a), r * np.sin(a)])
        self.t = 0
        return self.obs()

    def tip(self):
        return np.array([np.cos(self.q[0]) + np.cos(self.q.sum()), np.sin(self.q[0]) + np.sin(self.q.sum())])

    def obs(self):
        return np.concatenate([np.sin(self.q), np.cos(self.q), self.goal, self.goal - self.tip()]).astype("float32")

    def step(self, u):
        self.q = self.q + 0.25 * np.clip(u, -1, 1)
        self.t += 1
        d = np.linalg.norm(self.goal - self.tip())
        return self.obs(), -d, self.t >= 40


class RingBuffer:
    def __init__(self, size, obs, act):
        self.s, self.s2 = np.zeros((size, obs), "float32"), np.zeros((size, obs), "float32")
        self.a, self.r = np.zeros((size, act), "float32"), np.zeros(size, "float32")
        self.size, self.n = size, 0

    def add(self, s, a, r, s2):
        i = self.n % self.size
        self.s[i], self.a[i], self.r[i], self.s2[i] = s, a, r, s2
        self.n += 1

    def sample(self, k, rng):
        i = rng.integers(min(self.n, self.size), size=k)
        return self.s[i], self.a[i], self.r[i], self.s2[i]


def mlp(n_in, n_out, last):
    return keras.Sequential([keras.Input((n_in,)), keras.layers.Dense(400, "relu"), keras.layers.Dense(300, "relu"),
                             keras.layers.Dense(n_out, last)])


class DDPG:
    def __init__(self, obs, act, gamma=0.95, tau=0.01):
        self.gamma, self.tau = gamma, tau
        self.pi, self.pi_t = mlp(obs, act, "tanh"), mlp(obs, act, "tanh")
        self.q, self.q_t = mlp(obs + act, 1, None), mlp(obs + act, 1, None)
        self.pi_t.set_weights(self.pi.get_weights())
        self.q_t.set_weights(self.q.get_weights())
        self.opt_pi, self.opt_q = keras.optimizers.Adam(3e-4), keras.optimizers.Adam(1e-3)

    @tf.function
    def act(self, s):
        return self.pi(s)

    @tf.function
    def update(self, s, a, r, s2):
        y = r[:, None] + self.gamma * self.q_t(tf.concat([s2, self.pi_t(s2)], 1))
        with tf.GradientTape() as tape:
            lq = tf.reduce_mean(tf.square(y - self.q(tf.concat([s, a], 1))))
        self.opt_q.apply_gradients(zip(tape.gradient(lq, self.q.trainable_variables), self.q.trainable_variables))
        with tf.GradientTape() as tape:
            lp = -tf.reduce_mean(self.q(tf.concat([s, self.pi(s)], 1)))
        self.opt_pi.apply_gradients(zip(tape.gradient(lp, self.pi.trainable_variables), self.pi.trainable_variables))
        for net, slow in ((self.pi, self.pi_t), (self.q, self.q_t)):
            for v, w in zip(net.trainable_variables, slow.trainable_variables):
                w.assign((1 - self.tau) * w + self.tau * v)
        return lq, lp


def evaluate(agent, seed, episodes=2):
    env, total = Arm(seed), 0.0
    for _ in range(episodes):
        s, done = env.reset(), False
        while not done:
            s, r, done = env.step(agent.act(s[None]).numpy()[0])
            total += r
    return total / episodes


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=1200)
    p.add_argument("--warmup", type=int, default=300)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--capacity", type=int, default=100000)
    p.add_argument("--eval-every", type=int, default=200)
    p.add_argument("--out", default="run")
    a = p.parse_args()
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    env = Arm(1)
    s = env.reset()
    agent, buf = DDPG(len(s), 2), RingBuffer(a.capacity, len(s), 2)
    ckpt = tf.train.Checkpoint(pi=agent.pi, q=agent.q)
    manager = tf.train.CheckpointManager(ckpt, os.path.join(a.out, "ckpt"), max_to_keep=2)
    returns, critic, updates, ep, t0 = [], [], 0, 0.0, time.time()
    for t in range(1, a.steps + 1):
        u = rng.uniform(-1, 1, 2) if t <= a.warmup else agent.act(s[None]).numpy()[0] + 0.1 * rng.standard_normal(2)
        s2, r, done = env.step(u)
        buf.add(s, u, r, s2)
        ep, s = ep + r, s2
        if done:
            returns.append(ep)
            ep, s = 0.0, env.reset()
        if t > a.warmup:
            lq, lp = agent.update(*buf.sample(a.batch, rng))
            critic.append(float(lq))
            updates += 1
        if t % a.eval_every == 0:
            score = evaluate(agent, 77)
            manager.save(t)
            print("t %d train %.2f eval %.2f critic %.4f buffer %d  %.1fs" % (
                t, np.mean(returns[-10:]), score, np.mean(critic[-100:]) if critic else 0, min(buf.n, buf.size), time.time() - t0))
    print("gradient steps:", updates)


if __name__ == "__main__":
    main()
