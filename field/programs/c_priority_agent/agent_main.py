"""Off-policy control of a pendulum-like plant with prioritised replay."""
import argparse
from collections import namedtuple

import numpy as np
import tensorflow as tf

Transition = namedtuple("Transition", "obs act rew nxt td")


class Plants:
    """A batch of independent damped pendulums."""

    def __init__(self, n, rng):
        self.n, self.rng = n, rng
        self.th = rng.uniform(-np.pi, np.pi, n)
        self.w = np.zeros(n)

    def obs(self):
        return np.stack([np.cos(self.th), np.sin(self.th), self.w / 8], 1).astype(np.float32)

    def step(self, u):
        cost = self.th ** 2 + 0.1 * self.w ** 2 + 0.001 * u ** 2
        self.w = np.clip(self.w + (15 * np.sin(self.th) + 3 * u) * 0.05, -8, 8)
        self.th = (self.th + self.w * 0.05 + np.pi) % (2 * np.pi) - np.pi
        return self.obs(), -cost.astype(np.float32)


class ReplayBuffer:
    def __init__(self, alpha=0.6):
        self.alpha = alpha
        self.data = []

    def add_batch(self, obs, act, rew, nxt, td):
        for i in range(len(obs)):
            self.data.append(Transition(obs[i], act[i], rew[i], nxt[i], td))

    def sample(self, n, rng):
        weights = [(abs(t.td) + 1e-3) ** self.alpha for t in self.data]
        total = sum(weights)
        idx = rng.choice(len(self.data), n, p=[w / total for w in weights])
        rows = [self.data[i] for i in idx]
        return idx, [np.array(column) for column in list(zip(*rows))[:4]]

    def update(self, idx, td):
        for i, d in zip(idx, td):
            self.data[i] = self.data[i]._replace(td=float(d))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=360)
    ap.add_argument("--plants", type=int, default=250)
    ap.add_argument("--batch", type=int, default=128)
    args = ap.parse_args()
    rng = np.random.default_rng(6)
    tf.random.set_seed(6)
    torques = np.linspace(-2, 2, 7).astype(np.float32)

    q = tf.keras.Sequential([tf.keras.Input((3,)),
                             tf.keras.layers.Dense(64, activation="relu"),
                             tf.keras.layers.Dense(64, activation="relu"),
                             tf.keras.layers.Dense(len(torques))])
    target = tf.keras.models.clone_model(q)
    target.set_weights(q.get_weights())
    opt = tf.keras.optimizers.Adam(1e-3)

    @tf.function
    def act(obs):
        return tf.argmax(q(obs), axis=1)

    @tf.function
    def learn(obs, a, r, nxt):
        goal = r + 0.98 * tf.reduce_max(target(nxt), axis=1)
        with tf.GradientTape() as tape:
            pred = tf.gather(q(obs), a, axis=1, batch_dims=1)
            td = goal - pred
            loss = tf.reduce_mean(tf.square(td))
        opt.apply_gradients(zip(tape.gradient(loss, q.trainable_variables), q.trainable_variables))
        return loss, td

    plants, buffer = Plants(args.plants, rng), ReplayBuffer()
    obs = plants.obs()
    for step in range(1, args.steps + 1):
        greedy = act(obs).numpy()
        a = np.where(rng.random(args.plants) < 0.1, rng.integers(0, 7, args.plants), greedy).astype(np.int32)
        nxt, rew = plants.step(torques[a])
        buffer.add_batch(obs, a, rew, nxt, 1.0)
        obs = nxt
        idx, batch = buffer.sample(args.batch, rng)
        loss, td = learn(*batch)
        buffer.update(idx, td.numpy())
        if step % 50 == 0:
            target.set_weights(q.get_weights())
            print(f"step {step}  loss {float(loss):.3f}  mean reward {rew.mean():.2f}  buffer {len(buffer.data)}")


if __name__ == "__main__":
    main()
