"""Advantage actor-critic on a hand-written cart-pole."""
import argparse
import math

import numpy as np
import tensorflow as tf


class CartPole:
    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.s = self.rng.uniform(-0.05, 0.05, 4)
        self.n = 0
        return self.s.astype(np.float32)

    def step(self, action):
        x, v, th, w = self.s
        force = 10.0 if action == 1 else -10.0
        cos, sin = math.cos(th), math.sin(th)
        tmp = (force + 0.05 * w * w * sin) / 1.1
        acc = (9.8 * sin - cos * tmp) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
        a = tmp - 0.05 * acc * cos / 1.1
        self.s = np.array([x + 0.02 * v, v + 0.02 * a, th + 0.02 * w, w + 0.02 * acc])
        self.n += 1
        done = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.21 or self.n >= 200
        return self.s.astype(np.float32), 1.0, done


class ActorCritic(tf.keras.Model):
    def __init__(self, hidden, n_actions):
        super().__init__()
        self.h1 = tf.keras.layers.Dense(hidden, activation="tanh")
        self.h2 = tf.keras.layers.Dense(hidden, activation="tanh")
        self.pi = tf.keras.layers.Dense(n_actions)
        self.v = tf.keras.layers.Dense(1)

    def call(self, s):
        h = self.h2(self.h1(s))
        return self.pi(h), self.v(h)[:, 0]


class Trainer:
    def __init__(self, args):
        self.args = args
        self.rng = np.random.default_rng(args.seed)
        self.env = CartPole(self.rng)
        self.net = ActorCritic(48, 2)
        self.net(np.zeros((1, 4), np.float32))
        self.opt = tf.keras.optimizers.RMSprop(7e-3)
        self.state = self.env.reset()
        self.score, self.scores = 0.0, []

    def policy(self, state):
        logits, value = self.net(tf.convert_to_tensor(state[None]))
        action = tf.random.categorical(logits, 1)[0, 0]
        return int(action), float(value[0])

    def rollout(self):
        states, actions, rewards, values, dones = [], [], [], [], []
        for _ in range(self.args.horizon):
            action, value = self.policy(self.state)
            nxt, reward, done = self.env.step(action)
            states.append(self.state)
            actions.append(action)
            rewards.append(reward)
            values.append(value)
            dones.append(done)
            self.score += reward
            if done:
                self.scores.append(self.score)
                self.score = 0.0
                nxt = self.env.reset()
            self.state = nxt
        _, last = self.policy(self.state)
        returns = np.zeros(len(rewards), np.float32)
        run = last
        for i in reversed(range(len(rewards))):
            run = rewards[i] + 0.99 * run * (1 - dones[i])
            returns[i] = run
        return np.array(states), np.array(actions, np.int32), returns, np.array(values, np.float32)

    @tf.function
    def update(self, states, actions, returns, values):
        with tf.GradientTape() as tape:
            logits, v = self.net(states)
            logp = -tf.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=logits)
            adv = returns - values
            entropy = -tf.reduce_mean(tf.reduce_sum(tf.nn.softmax(logits) * tf.nn.log_softmax(logits), axis=1))
            loss = -tf.reduce_mean(logp * adv) + 0.5 * tf.reduce_mean((returns - v) ** 2) - 0.01 * entropy
        grads = tape.gradient(loss, self.net.trainable_variables)
        grads, _ = tf.clip_by_global_norm(grads, 0.5)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
        return loss

    def run(self):
        for i in range(self.args.updates):
            loss = self.update(*self.rollout())
            if i % 25 == 0:
                print(f"update {i}: loss {float(loss):.2f}, mean score {np.mean(self.scores[-20:] or [0]):.1f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--updates", type=int, default=110)
    p.add_argument("--horizon", type=int, default=24)
    p.add_argument("--seed", type=int, default=1)
    Trainer(p.parse_args()).run()
