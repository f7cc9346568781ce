#!/usr/bin/env python3
"""Advantage actor-critic for a fleet of simulated carts (vectorised environment)."""
import argparse
import collections
import time

import numpy as np
import tensorflow as tf


class CartFleet:
    """n carts on a rail, push left or right to stay near the origin."""

    def __init__(self, n, seed):
        self.n, self.rng = n, np.random.RandomState(seed)
        self.state = self._fresh(n)
        self.age = np.zeros(n, int)

    def _fresh(self, n):
        return self.rng.uniform(-0.5, 0.5, (n, 4)).astype(np.float32)

    def step(self, action):
        x, v, th, om = self.state.T
        force = np.where(action == 1, 1.0, -1.0)
        v = v + 0.05 * force - 0.01 * x
        x = x + 0.05 * v
        om = om + 0.05 * (np.sin(th) * 1.5 - force * np.cos(th) * 0.8)
        th = th + 0.05 * om
        self.state = np.stack([x, v, th, om], 1).astype(np.float32)
        self.age += 1
        fail = (np.abs(x) > 2.4) | (np.abs(th) > 0.8)
        done = fail | (self.age >= 200)
        reward = np.where(fail, -1.0, 0.1).astype(np.float32)
        length = self.age[done].copy()
        if done.any():
            self.state[done] = self._fresh(done.sum()) * 0.2
            self.age[done] = 0
        return self.state.copy(), reward, done.astype(np.float32), length


class ActorCritic(tf.keras.Model):
    def __init__(self, n_actions):
        super().__init__()
        self.body = tf.keras.layers.Dense(64, "tanh")
        self.pi = tf.keras.layers.Dense(n_actions)
        self.v = tf.keras.layers.Dense(1)

    def call(self, s):
        h = self.body(s)
        return self.pi(h), tf.squeeze(self.v(h), -1)


class Learner:
    def __init__(self, args):
        self.args = args
        self.net = ActorCritic(2)
        self.opt = tf.keras.optimizers.RMSprop(args.lr)

    @tf.function
    def act(self, s):
        logits, value = self.net(s)
        return tf.random.categorical(logits, 1)[:, 0], value

    @tf.function
    def update(self, s, a, adv, ret):
        with tf.GradientTape() as tape:
            logits, value = self.net(s)
            logp = tf.nn.log_softmax(logits)
            taken = tf.reduce_sum(logp * tf.one_hot(a, 2), -1)
            entropy = -tf.reduce_mean(tf.reduce_sum(tf.exp(logp) * logp, -1))
            loss = (-tf.reduce_mean(taken * adv) + 0.5 * tf.reduce_mean(tf.square(ret - value)) - 0.01 * entropy)
        g, _ = tf.clip_by_global_norm(tape.gradient(loss, self.net.trainable_variables), 0.5)
        self.opt.apply_gradients(zip(g, self.net.trainable_variables))
        return loss

    def advantages(self, rewards, values, dones, last):
        """GAE(lambda)"""
        gamma, lam = self.args.gamma, self.args.lam
        rewards, values, dones = tf.stack(rewards), tf.stack(values), tf.stack(dones)
        gae, nxt, out = tf.zeros_like(last), last, []
        for t in reversed(range(self.args.horizon)):
            alive = 1.0 - dones[t]
            delta = rewards[t] + gamma * nxt * alive - values[t]
            gae = delta + gamma * lam * alive * gae
            nxt = values[t]
            out.insert(0, gae)
        adv = tf.stack(out)
        return adv, adv + values


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--envs", type=int, default=16)
    p.add_argument("--horizon", type=int, default=64)
    p.add_argument("--updates", type=int, default=160)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--gamma", type=float, default=0.98)
    p.add_argument("--lam", type=float, default=0.95)
    args = p.parse_args()
    tf.random.set_seed(0)
    env, learner = CartFleet(args.envs, 0), Learner(args)
    lengths = collections.deque(maxlen=100)
    s, t0 = env.state.copy(), time.time()
    for u in range(1, args.updates + 1):
        S, A, R, V, D = [], [], [], [], []
        for _ in range(args.horizon):
            a, v = learner.act(s)
            S.append(s)
            s, r, d, ln = env.step(a.numpy())
            A.append(a), R.append(r), V.append(v), D.append(d)
            lengths.extend(ln)
        _, last = learner.act(s)
        adv, ret = learner.advantages(R, V, D, last)
        n = args.envs * args.horizon
        flat = tf.reshape(adv, [n])
        flat = (flat - tf.reduce_mean(flat)) / (tf.math.reduce_std(flat) + 1e-6)
        loss = learner.update(np.concatenate(S), tf.reshape(tf.stack(A), [n]), flat, tf.reshape(ret, [n]))
        if u % 20 == 0:
            print("update %4d loss %.4f mean episode %.1f fps %d" % (
                u, float(loss), np.mean(lengths), u * n / (time.time() - t0)))
    print("updates done: %d" % int(learner.opt.iterations))


if __name__ == "__main__":
    main()
