# expect: fit-in-loop
# also: input-bound
# steps: 60
"""As in many a learner by reinforcement: fit() is called for every batch that was drawn from the memory."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
memory = rng.normal(size=(1000, 8)).astype("float32")


class Agent:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(2)])
        self.model.compile(optimizer="adam", loss="mse")

    def replay(self, rows):
        states = memory[rows]
        values = np.stack([states.sum(axis=1), states.max(axis=1)], axis=1)
        self.model.fit(states, values, epochs=1, verbose=0)  # <-- fit-in-loop


agent = Agent()
for episode in range(60):
    agent.replay(rng.integers(0, len(memory), 32))
