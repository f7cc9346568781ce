import random

import numpy as np
from tensorflow import keras


class DQNAgent:
    def __init__(self, state_size, n_actions, cfg):
        self.n_actions = n_actions
        self.gamma = cfg["gamma"]
        self.epsilon = cfg["epsilon"]
        self.batch_size = cfg["batch_size"]
        self.memory = []
        self.model = self._network(state_size)
        self.target = self._network(state_size)
        self.target.set_weights(self.model.get_weights())

    def _network(self, state_size):
        net = keras.Sequential([
            keras.Input((state_size,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(self.n_actions),
        ])
        net.compile(loss="mse", optimizer=keras.optimizers.Adam(1e-3))
        return net

    def act(self, state):
        if random.random() < self.epsilon:
            return random.randrange(self.n_actions)
        q = self.model.predict(np.array([state], np.float32), verbose=0)
        return int(np.argmax(q[0]))

    def remember(self, state, action, reward, next_state, done):
        priority = abs(reward) + 0.01 * random.random()
        self.memory.append({"s": state, "a": action, "r": reward, "n": next_state, "d": done, "p": priority})

    def draw(self):
        # half of the batch from the most surprising transitions, half at random
        ranked = sorted(self.memory, key=lambda m: m["p"], reverse=True)
        half = self.batch_size // 2
        return ranked[:half] + random.sample(ranked, self.batch_size - half)

    def learn(self):
        batch = self.draw()
        for m in batch:
            m["p"] *= 0.9
        states = np.array([m["s"] for m in batch], np.float32)
        nexts = np.array([m["n"] for m in batch], np.float32)
        q = self.model.predict_on_batch(states)
        q_next = self.target.predict_on_batch(nexts)
        for i, m in enumerate(batch):
            q[i, m["a"]] = m["r"] + (0.0 if m["d"] else self.gamma * q_next[i].max())
        return float(self.model.train_on_batch(states, q))

    def sync_target(self):
        self.target.set_weights(self.model.get_weights())
