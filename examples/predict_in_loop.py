# expect: predict-in-loop
# steps: 80
"""Q-learning on a toy walk: the agent asks the network for every single action."""

import random

import keras
import numpy as np
import tensorflow as tf

random.seed(0)
keras.utils.set_random_seed(0)


class Walk:
    def __init__(self):
        self.rng = np.random.default_rng(1)
        self.state = self.rng.normal(size=4).astype("float32")

    def move(self, action):
        before = self.state
        self.state = (0.9 * before + 0.1 * self.rng.normal(size=4)).astype("float32")
        return before, action, float(self.state[action]), self.state


class Agent:
    def __init__(self):
        self.network = keras.Sequential(
            [keras.Input((4,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(2)]
        )
        self.optimizer = keras.optimizers.Adam(1e-3)
        self.memory = []

    def act(self, state):
        if random.random() < 0.1:
            return random.randrange(2)
        values = self.network.predict(state[np.newaxis], verbose=0)  # <-- predict-in-loop
        return int(values[0].argmax())

    def learn(self):
        rows = random.sample(self.memory[-500:], 16)
        states, actions, rewards, following = (np.array(column) for column in zip(*rows))
        self.update(tf.constant(states), tf.constant(actions), tf.constant(rewards, tf.float32), tf.constant(following))

    @tf.function
    def update(self, states, actions, rewards, following):
        goal = rewards + 0.9 * tf.reduce_max(self.network(following), axis=1)
        with tf.GradientTape() as tape:
            chosen = tf.gather(self.network(states), actions, axis=1, batch_dims=1)
            loss = tf.reduce_mean((goal - chosen) ** 2)
        grads = tape.gradient(loss, self.network.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.network.trainable_variables))


walk, agent = Walk(), Agent()
for move in range(96):
    agent.memory.append(walk.move(agent.act(walk.state)))
    if len(agent.memory) > 16:
        agent.learn()
print("mean reward", np.mean([reward for _, _, reward, _ in agent.memory]))
