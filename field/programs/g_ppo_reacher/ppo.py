"""PPO for a planar two-joint arm; many arms are simulated at once in NumPy."""
import argparse
import tempfile
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras

parser = argparse.ArgumentParser()
parser.add_argument("--iterations", type=int, default=14)
parser.add_argument("--arms", type=int, default=256)
parser.add_argument("--horizon", type=int, default=24)
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--minibatch", type=int, default=1024)
parser.add_argument("--clip", type=float, default=0.2)
FLAGS = parser.parse_args()


class Arms:
    def __init__(self, n, seed=0):
        self.rng = np.random.default_rng(seed)
        self.n = n
        self.reset()

    def reset(self):
        self.q = self.rng.uniform(-np.pi, np.pi, (self.n, 2))
        self.goal = self.rng.uniform(-1.2, 1.2, (self.n, 2))
        return self.obs()

    def tip(self):
        a, b = self.q[:, 0], self.q.sum(1)
        return np.stack([np.cos(a) + 0.7 * np.cos(b), np.sin(a) + 0.7 * np.sin(b)], 1)

    def obs(self):
        return np.concatenate([np.sin(self.q), np.cos(self.q), self.goal, self.goal - self.tip()], 1).astype(np.float32)

    def step(self, action):
        self.q = self.q + 0.2 * np.clip(action, -1, 1)
        reward = -np.linalg.norm(self.goal - self.tip(), axis=1)
        return self.obs(), reward.astype(np.float32)


def mlp(outputs):
    return keras.Sequential([keras.Input((8,)), keras.layers.Dense(512, activation="tanh"),
                             keras.layers.Dense(512, activation="tanh"), keras.layers.Dense(outputs)])


class PPO(tf.Module):
    def __init__(self):
        super().__init__()
        self.policy, self.critic = mlp(2), mlp(1)
        self.log_std = tf.Variable(tf.fill([2], -0.5))
        self.optimizer = keras.optimizers.Adam(3e-4)
        self.variables_ = self.policy.trainable_variables + self.critic.trainable_variables + [self.log_std]

    def log_prob(self, mean, action):
        z = (action - mean) * tf.exp(-self.log_std)
        return tf.reduce_sum(-0.5 * z * z - self.log_std - 0.919, 1)

    @tf.function
    def act(self, obs):
        mean = self.policy(obs)
        action = mean + tf.exp(self.log_std) * tf.random.normal(tf.shape(mean))
        return action, self.log_prob(mean, action), self.critic(obs)[:, 0]

    @tf.function
    def update(self, obs, action, old, adv, ret, clip):
        with tf.GradientTape(persistent=True) as tape:
            ratio = tf.exp(self.log_prob(self.policy(obs), action) - old)
            surrogate = tf.minimum(ratio * adv, tf.clip_by_value(ratio, 1 - clip, 1 + clip) * adv)
            value_loss = tf.reduce_mean((self.critic(obs)[:, 0] - ret) ** 2)
            loss = -tf.reduce_mean(surrogate) + 0.5 * value_loss - 0.001 * tf.reduce_sum(self.log_std)
        grads = tape.gradient(loss, self.variables_)
        self.optimizer.apply_gradients(zip(grads, self.variables_))
        return loss, tf.reduce_mean(old - tf.math.log(ratio))


def collect(agent, arms):
    obs, cols = arms.reset(), {k: [] for k in ("obs", "act", "logp", "val", "rew")}
    for _ in range(FLAGS.horizon):
        action, logp, value = (t.numpy() for t in agent.act(obs))
        nxt, reward = arms.step(action)
        for k, v in zip(cols, (obs, action, logp, value, reward)):
            cols[k].append(v)
        obs = nxt
    data = {k: np.stack(v) for k, v in cols.items()}
    adv, run = np.zeros_like(data["rew"]), 0.0
    last = agent.act(obs)[2].numpy()
    for t in reversed(range(FLAGS.horizon)):
        following = data["val"][t + 1] if t + 1 < FLAGS.horizon else last
        run = data["rew"][t] + 0.95 * following - data["val"][t] + 0.95 * 0.9 * run
        adv[t] = run
    data["ret"] = adv + data["val"]
    data["adv"] = (adv - adv.mean()) / (adv.std() + 1e-6)
    return {k: v.reshape((-1,) + v.shape[2:]) for k, v in data.items()}


def main():
    keras.utils.set_random_seed(1)
    agent, arms, rng = PPO(), Arms(FLAGS.arms), np.random.default_rng(1)
    history = []
    with tempfile.TemporaryDirectory() as folder:
        manager = tf.train.CheckpointManager(tf.train.Checkpoint(policy=agent.policy, critic=agent.critic), folder, max_to_keep=2)
        for it in range(FLAGS.iterations):
            t0 = time.time()
            data = collect(agent, arms)
            size = len(data["obs"])
            for _ in range(FLAGS.epochs):
                order = rng.permutation(size)
                for k in range(0, size, FLAGS.minibatch):
                    pick = order[k:k + FLAGS.minibatch]
                    loss, kl = agent.update(*(tf.constant(data[c][pick]) for c in ("obs", "act", "logp", "adv", "ret")), FLAGS.clip)
                    history.append((float(loss), float(kl)))
            if it % 5 == 0:
                manager.save()
            print("iteration %2d  reward %.3f  loss %.3f  %.2f s" % (it, data["rew"].mean(), np.mean([h[0] for h in history[-24:]]), time.time() - t0))


if __name__ == "__main__":
    main()
