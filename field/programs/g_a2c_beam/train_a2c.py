"""Advantage actor-critic on a batch of beam-balancing simulations (no gym needed)."""
import argparse
import logging
from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from tensorflow import keras

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("a2c")


@dataclass
class Options:
    envs: int = 32
    horizon: int = 20
    updates: int = 90
    gamma: float = 0.98
    lr: float = 7e-4
    entropy_start: float = 0.05
    entropy_end: float = 0.001
    seed: int = 11


class BeamEnvs:
    """Ball on a tilting beam, vectorised over `n` copies."""

    def __init__(self, n, seed):
        self.rng = np.random.default_rng(seed)
        self.n = n
        self.state = self._fresh(n)

    def _fresh(self, k):
        return self.rng.uniform(-0.3, 0.3, (k, 4)).astype(np.float32)

    def step(self, action):
        x, v, tilt, spin = self.state.T
        spin = spin + 0.15 * (action - 1)
        tilt = np.clip(tilt + 0.1 * spin, -0.6, 0.6)
        v = v - 0.2 * np.sin(tilt)
        x = x + 0.1 * v
        self.state = np.stack([x, v, tilt, 0.95 * spin], 1).astype(np.float32)
        done = np.abs(x) > 1.0
        reward = np.where(done, -5.0, 1.0 - np.abs(x)).astype(np.float32)
        if done.any():
            self.state[done] = self._fresh(int(done.sum()))
        return self.state, reward, done


def build():
    obs = keras.Input((4,))
    h = keras.layers.Dense(128, activation="tanh")(obs)
    h = keras.layers.Dense(128, activation="tanh")(h)
    return keras.Model(obs, [keras.layers.Dense(3)(h), keras.layers.Dense(1)(h)])


class Agent:
    def __init__(self, opts):
        self.net = build()
        self.opt = keras.optimizers.RMSprop(opts.lr)
        self.opt.build(self.net.trainable_variables)

    @tf.function
    def act(self, obs):
        logits, value = self.net(obs)
        return tf.random.categorical(logits, 1)[:, 0], value[:, 0]

    @tf.function
    def learn(self, obs, actions, returns, beta):
        with tf.GradientTape() as tape:
            logits, value = self.net(obs, training=True)
            adv = returns - value[:, 0]
            logp = -tf.nn.sparse_softmax_cross_entropy_with_logits(actions, logits)
            probs = tf.nn.softmax(logits)
            entropy = -tf.reduce_mean(tf.reduce_sum(probs * tf.nn.log_softmax(logits), 1))
            policy = -tf.reduce_mean(logp * tf.stop_gradient(adv))
            loss = policy + 0.5 * tf.reduce_mean(adv ** 2) - beta * entropy
        grads, norm = tf.clip_by_global_norm(tape.gradient(loss, self.net.trainable_variables), 0.5)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
        return loss, entropy


def anneal(opts, k):
    share = k / max(1, opts.updates - 1)
    return opts.entropy_start + share * (opts.entropy_end - opts.entropy_start)


def rollout(agent, envs, opts):
    obs, acts, rews, dones = [], [], [], []
    state = envs.state
    for _ in range(opts.horizon):
        action, _ = agent.act(tf.constant(state))
        action = action.numpy()
        obs.append(state)
        acts.append(action)
        state, reward, done = envs.step(action)
        rews.append(reward)
        dones.append(done)
    _, tail = agent.act(tf.constant(state))
    returns, run = [], tail.numpy()
    for reward, done in zip(reversed(rews), reversed(dones)):
        run = reward + opts.gamma * run * (1.0 - done)
        returns.append(run.astype(np.float32))
    returns.reverse()
    return np.concatenate(obs), np.concatenate(acts), np.concatenate(returns), float(np.mean(rews))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=Options.updates)
    parser.add_argument("--envs", type=int, default=Options.envs)
    args = parser.parse_args()
    opts = Options(updates=args.updates, envs=args.envs)
    keras.utils.set_random_seed(opts.seed)
    envs, agent = BeamEnvs(opts.envs, opts.seed), Agent(opts)
    for k in range(opts.updates):
        obs, acts, rets, score = rollout(agent, envs, opts)
        beta = anneal(opts, k)
        loss, entropy = agent.learn(tf.constant(obs), tf.constant(acts), tf.constant(rets), beta)
        if k % 15 == 0:
            log.info("update %3d reward %.3f loss %.3f entropy %.3f", k, score, float(loss), float(entropy))
    print("finished, last mean reward %.3f" % score)


if __name__ == "__main__":
    main()
