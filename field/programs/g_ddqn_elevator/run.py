import random

import numpy as np
import tensorflow as tf

from agent import DDQNAgent
from elevator import Elevator

EPISODES = 4
WARMUP = 100

if __name__ == "__main__":
    random.seed(4)
    np.random.seed(4)
    tf.random.set_seed(4)
    env = Elevator(seed=4)
    agent = DDQNAgent(16, 3)
    agent.epsilon = 0.5

    state = env.reset()
    for _ in range(WARMUP):
        action = random.randrange(3)
        nxt, reward, done = env.step(action)
        agent.remember(state, action, reward, nxt, done)
        state = env.reset() if done else nxt

    scores = []
    for e in range(EPISODES):
        state, done, score, losses = env.reset(), False, 0.0, []
        while not done:
            action = agent.act(state)
            nxt, reward, done = env.step(action)
            agent.remember(state, action, reward, nxt, done)
            state = nxt
            score += reward
            losses.append(agent.replay())
        agent.update_target_model()
        scores.append(score)
        print("episode: {}/{}, score: {:.2f}, loss: {:.4f}, e: {:.2f}".format(e + 1, EPISODES, score, np.mean(losses), agent.epsilon))
    print("mean score:", np.mean(scores))
