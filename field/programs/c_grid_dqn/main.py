import json
import random
import sys

import numpy as np
import tensorflow as tf

from agent import DQNAgent
from grid import GridWorld


def warmup(env, agent, n):
    s = env.reset()
    for _ in range(n):
        a = random.randrange(4)
        s2, r, done = env.step(a)
        agent.remember(s, a, r, s2, done)
        s = env.reset() if done else s2


def main(path):
    with open(path) as f:
        cfg = json.load(f)
    random.seed(cfg["seed"])
    np.random.seed(cfg["seed"])
    tf.random.set_seed(cfg["seed"])
    env = GridWorld(seed=cfg["seed"])
    agent = DQNAgent(8, 4, cfg)
    warmup(env, agent, cfg["warmup"])
    print("memory holds", len(agent.memory), "transitions")

    state, score, scores, losses = env.reset(), 0.0, [], []
    for update in range(1, cfg["updates"] + 1):
        action = agent.act(state)
        nxt, reward, done = env.step(action)
        agent.remember(state, action, reward, nxt, done)
        score += reward
        losses.append(agent.learn())
        if update % cfg["sync_every"] == 0:
            agent.sync_target()
            print(f"update {update} loss {np.mean(losses[-50:]):.4f}")
        if done:
            scores.append(score)
            state, score = env.reset(), 0.0
        else:
            state = nxt
    print("episodes", len(scores))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "config.json")
