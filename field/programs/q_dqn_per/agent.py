import random

import numpy as np
from tensorflow import keras
import tensorflow as tf

from memory import PrioritizedMemory


class DoubleDQNAgent:
    def __init__(self, state_dim, n_actions, hp):
        self.n_actions = n_actions
        self.hp = hp
        self.epsilon = 1.0
        self.memory = PrioritizedMemory(hp["capacity"])
        self.model = self._net(state_dim)
        self.target = self._net(state_dim)
        self.target.set_weights(self.model.get_weights())
        self.updates = 0

    def _net(self, dim):
        net = keras.Sequential([
            keras.layers.Input((dim,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(self.n_actions),
        ])
        net.compile(loss="mse", optimizer=keras.optimizers.Adam(1e-3))
        return net

    def act(self, state):
        if random.random() < self.epsilon:
            return random.randrange(self.n_actions)
        q = self.model.predict(state[None], verbose=0)
        return int(np.argmax(q[0]))

    def remember(self, *transition):
        self.memory.push(*transition)

    def replay(self):
        if len(self.memory) < self.hp["warmup"]:
            return None
        idx, b, w = self.memory.sample(self.hp["batch"])
        n = len(idx)
        q = self.model.predict_on_batch(np.concatenate([b.s, b.s2]))
        q_now, q_next = q[:n].copy(), q[n:]
        q_target = self.target.predict_on_batch(b.s2)
        best = q_next.argmax(1)
        y = b.r + self.hp["gamma"] * q_target[np.arange(n), best] * (1 - b.done)
        err = y - q_now[np.arange(n), b.a]
        q_now[np.arange(n), b.a] = y
        loss = self.model.train_on_batch(b.s, q_now, sample_weight=w)
        self.memory.update(idx, err)
        self.updates += 1
        if self.updates % self.hp["sync"] == 0:
            self.target.set_weights(self.model.get_weights())
        self.epsilon = max(self.hp["eps_min"], self.epsilon * self.hp["eps_decay"])
        return float(loss)
