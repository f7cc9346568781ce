"""A tank with two valves, kept at its level by a twin-critic agent (continuous actions, replay, lagging critics)."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

STEPS, FIRST, BATCH, GAMMA, LAG = 420, 60, 192, 0.98, 0.01
keras.utils.set_random_seed(21)


class Tank:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.reset()

    def reset(self):
        self.levels = self.rng.uniform(0.2, 0.8, 3)
        self.wanted = self.rng.uniform(0.3, 0.7)
        self.age = 0
        return self.look()

    def look(self):
        return np.concatenate([self.levels, [self.wanted, np.sin(self.age / 9)]]).astype(np.float32)

    def step(self, valves):
        inflow = 0.03 * (1 + valves[0]) + 0.01 * np.sin(self.age / 9)
        drain = 0.03 * (1 + valves[1]) * np.sqrt(max(self.levels[2], 0))
        flows = 0.2 * np.diff(self.levels)
        self.levels += [inflow + flows[0], flows[1] - flows[0], -drain - flows[1]]
        self.levels = np.clip(self.levels + self.rng.normal(0, 0.002, 3), 0, 1.2)
        self.age += 1
        reward = -abs(self.levels[2] - self.wanted) - 0.01 * float(np.square(valves).sum())
        return self.look(), np.float32(reward), self.age % 60 == 0


def tower(inputs, outputs, last=None):
    entry = x = layers.Input((inputs,))
    for _ in range(2):
        x = layers.Dense(384, activation="relu")(x)
    return keras.Model(entry, layers.Dense(outputs, activation=last)(x))


class Memory:
    def __init__(self, size):
        self.rows = {"s": np.zeros((size, 5), np.float32), "a": np.zeros((size, 2), np.float32),
                     "r": np.zeros(size, np.float32), "n": np.zeros((size, 5), np.float32)}
        self.used = 0

    def add(self, **row):
        for key, value in row.items():
            self.rows[key][self.used % len(self.rows["r"])] = value
        self.used += 1

    def draw(self, rng, count):
        at = rng.integers(0, min(self.used, len(self.rows["r"])), count)
        return tuple(self.rows[k][at] for k in "sarn")


class Agent:
    def __init__(self):
        self.actor = tower(5, 2, "tanh")
        self.critics = [tower(7, 1) for _ in range(2)]
        self.lagging = [keras.models.clone_model(c) for c in self.critics]
        for slow, fast in zip(self.lagging, self.critics):
            slow.set_weights(fast.get_weights())
        self.weights = [w for c in self.critics for w in c.trainable_variables]
        self.opt_actor, self.opt_critic = keras.optimizers.Adam(3e-4), keras.optimizers.Adam(1e-3)
        self.opt_actor.build(self.actor.trainable_variables)
        self.opt_critic.build(self.weights)

    @tf.function
    def choose(self, view):
        return self.actor(view[None])[0]

    def act(self, view, rng):
        return np.clip(self.choose(view).numpy() + rng.normal(0, 0.2, 2), -1, 1)

    @tf.function
    def update(self, s, a, r, n):
        noise = tf.clip_by_value(tf.random.normal(tf.shape(a), stddev=0.1), -0.3, 0.3)
        ahead = tf.concat([n, tf.clip_by_value(self.actor(n) + noise, -1, 1)], 1)
        goal = r[:, None] + GAMMA * tf.minimum(self.lagging[0](ahead), self.lagging[1](ahead))
        with tf.GradientTape() as tape:
            now = tf.concat([s, a], 1)
            miss = sum(tf.reduce_mean((c(now) - goal) ** 2) for c in self.critics)
        self.opt_critic.apply_gradients(zip(tape.gradient(miss, self.weights), self.weights))
        with tf.GradientTape() as tape:
            worth = -tf.reduce_mean(self.critics[0](tf.concat([s, self.actor(s)], 1)))
        own = self.actor.trainable_variables
        self.opt_actor.apply_gradients(zip(tape.gradient(worth, own), own))
        for slow, fast in zip(self.lagging, self.critics):
            for old, new in zip(slow.trainable_variables, fast.trainable_variables):
                old.assign_add(LAG * (new - old))
        return miss, worth


def main():
    rng = np.random.default_rng(2)
    tank, agent, memory = Tank(1), Agent(), Memory(20_000)
    view, total = tank.reset(), 0.0
    critic_log, actor_log = [], []
    for step in range(STEPS + FIRST):
        valves = rng.uniform(-1, 1, 2) if step < FIRST else agent.act(view, rng)
        after, reward, over = tank.step(valves)
        memory.add(s=view, a=valves, r=reward, n=after)
        view, total = after, total + reward
        if step >= FIRST:
            miss, worth = agent.update(*memory.draw(rng, BATCH))
            critic_log.append(float(miss))
            actor_log.append(float(worth))
        if over:
            tail = f"critic {np.mean(critic_log[-60:]):.5f} actor {np.mean(actor_log[-60:]):.4f}" if critic_log else "filling"
            print(f"step {step + 1:4d} return {total:7.3f} {tail}")
            view, total = tank.reset(), 0.0


main()
