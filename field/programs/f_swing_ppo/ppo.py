import argparse

import numpy as np
import tensorflow as tf


class Swings:
    """Many copies of a torque-limited pendulum seen through a bank of angle sensors."""

    def __init__(self, copies, sensors=64, seed=0):
        self.rng = np.random.default_rng(seed)
        self.copies = copies
        self.phase = np.linspace(0, 2 * np.pi, sensors // 2, endpoint=False)
        self.reset()

    def reset(self):
        self.angle = self.rng.uniform(-np.pi, np.pi, self.copies)
        self.speed = self.rng.uniform(-1, 1, self.copies)
        return self.observe()

    def observe(self):
        a = self.angle[:, None] + self.phase
        return np.concatenate([np.cos(a), np.sin(a) * self.speed[:, None] / 8], 1).astype(np.float32)

    def step(self, torque):
        cost = ((self.angle + np.pi) % (2 * np.pi) - np.pi) ** 2 + 0.1 * self.speed ** 2
        self.speed = np.clip(self.speed + 0.05 * (15 * np.sin(self.angle) + 3 * torque), -8, 8)
        self.angle = self.angle + 0.05 * self.speed
        return self.observe(), (-0.1 * cost).astype(np.float32)


class PPO:
    def __init__(self, n_obs, width):
        layers = tf.keras.layers
        obs = tf.keras.Input((n_obs,))
        x = layers.Dense(width, activation="tanh")(obs)
        x = layers.Dense(width, activation="tanh")(x)
        self.net = tf.keras.Model(obs, [layers.Dense(1)(x), layers.Dense(1)(x)])
        self.optimizer = tf.keras.optimizers.Adam(2e-4, clipnorm=0.5)
        self.optimizer.build(self.net.trainable_variables)

    @staticmethod
    def log_prob(action, mean):
        return -0.5 * tf.square((action - mean) / 0.4)

    @tf.function(reduce_retracing=True)
    def act(self, obs):
        mean, value = self.net(obs)
        action = mean + 0.4 * tf.random.normal(tf.shape(mean))
        return action[:, 0], self.log_prob(action, mean)[:, 0], value[:, 0]

    @tf.function(reduce_retracing=True)
    def update(self, obs, action, old, advantage, target):
        with tf.GradientTape() as tape:
            mean, value = self.net(obs)
            ratio = tf.exp(self.log_prob(action, mean[:, 0]) - old)
            clipped = tf.clip_by_value(ratio, 0.8, 1.2)
            loss = -tf.reduce_mean(tf.minimum(ratio * advantage, clipped * advantage))
            loss += 0.5 * tf.reduce_mean(tf.square(value[:, 0] - target))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.net.trainable_variables),
                                           self.net.trainable_variables))
        return loss


def gae(rewards, values, last, gamma=0.97, lam=0.95):
    out, running, following = np.zeros_like(rewards), 0.0, last
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * following - values[t]
        running = delta + gamma * lam * running
        out[t], following = running, values[t]
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, default=4)
    parser.add_argument("--copies", type=int, default=192)
    parser.add_argument("--horizon", type=int, default=48)
    parser.add_argument("--width", type=int, default=896)
    args = parser.parse_args()
    tf.keras.utils.set_random_seed(10)
    swings = Swings(args.copies)
    agent = PPO(64, args.width)
    shuffle = np.random.default_rng(1)
    losses = []
    for iteration in range(args.iterations):
        obs = swings.reset()
        observations, actions, logps, values, rewards = [], [], [], [], []
        for _ in range(args.horizon):
            action, logp, value = (t.numpy() for t in agent.act(obs))
            observations.append(obs)
            obs, reward = swings.step(action)
            actions.append(action)
            logps.append(logp)
            values.append(value)
            rewards.append(reward)
        last = agent.act(obs)[2].numpy()
        advantage = gae(np.array(rewards), np.array(values), last)
        target = (advantage + np.array(values)).ravel()
        advantage = ((advantage - advantage.mean()) / (advantage.std() + 1e-6)).ravel()
        data = [np.concatenate(observations), np.concatenate(actions), np.concatenate(logps), advantage, target]
        for _ in range(3):
            for rows in np.array_split(shuffle.permutation(len(target)), 12):
                losses.append(float(agent.update(*(d[rows] for d in data))))
        print(f"iteration {iteration}: reward {np.mean(rewards):.3f}, loss {np.mean(losses[-36:]):.3f}")


if __name__ == "__main__":
    main()
