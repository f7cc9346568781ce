import random
from collections import deque

import numpy as np
from tensorflow.keras.layers import Dense
from tensorflow.keras.losses import Huber
from tensorflow.keras.models import Sequential
from tensorflow.keras.optimizers import Adam


class DDQNAgent:
    def __init__(self, state_size, action_size, gamma=0.97, batch_size=64):
        self.state_size = state_size
        self.action_size = action_size
        self.memory = deque(maxlen=5000)
        self.gamma = gamma
        self.epsilon = 1.0
        self.epsilon_min = 0.05
        self.epsilon_decay = 0.995
        self.batch_size = batch_size
        self.model = self._build_model()
        self.target_model = self._build_model()
        self.update_target_model()

    def _build_model(self):
        model = Sequential()
        model.add(Dense(64, input_dim=self.state_size, activation="relu"))
        model.add(Dense(64, activation="relu"))
        model.add(Dense(self.action_size, activation="linear"))
        model.compile(loss=Huber(), optimizer=Adam(learning_rate=0.001))
        return model

    def update_target_model(self):
        self.target_model.set_weights(self.model.get_weights())

    def remember(self, *transition):
        self.memory.append(transition)

    def act(self, state):
        if np.random.rand() <= self.epsilon:
            return random.randrange(self.action_size)
        q = self.model.predict(state[None], verbose=0)
        return int(np.argmax(q[0]))

    def replay(self):
        batch = random.sample(self.memory, self.batch_size)
        state, action, reward, nxt, done = map(np.array, zip(*batch))
        target = self.model.predict_on_batch(state)
        pick = np.argmax(self.model.predict_on_batch(nxt), axis=1)
        value = self.target_model.predict_on_batch(nxt)[np.arange(self.batch_size), pick]
        target[np.arange(self.batch_size), action] = reward + self.gamma * value * (1 - done)
        hist = self.model.fit(state, target, batch_size=self.batch_size, epochs=1, verbose=0)
        if self.epsilon > self.epsilon_min:
            self.epsilon *= self.epsilon_decay
        return hist.history["loss"][0]
