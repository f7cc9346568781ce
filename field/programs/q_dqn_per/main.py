import json
import random
import sys
import time

import numpy as np
import tensorflow as tf

from agent import DoubleDQNAgent
from env import PointMaze

HP = {
    "capacity": 100000, "warmup": 64, "batch": 32, "gamma": 0.97, "sync": 100,
    "eps_min": 0.05, "eps_decay": 0.985, "prefill": 80000, "env_steps": 220,
}


def main():
    if len(sys.argv) > 1:
        HP.update(json.loads(sys.argv[1]))
    random.seed(0), np.random.seed(0), tf.random.set_seed(0)
    env = PointMaze(seed=3)
    agent = DoubleDQNAgent(env.state_dim, env.n_actions, HP)

    # demonstrations of a random walker
    s = env.reset()
    for _ in range(HP["prefill"]):
        a = random.randrange(env.n_actions)
        s2, r, done = env.step(a)
        agent.remember(s, a, r, s2, float(done))
        s = env.reset() if done else s2

    scores, score, t0 = [], 0.0, time.time()
    s = env.reset()
    for t in range(1, HP["env_steps"] + 1):
        a = agent.act(s)
        s2, r, done = env.step(a)
        agent.remember(s, a, r, s2, float(done))
        loss = agent.replay()
        score += r
        s = s2
        if done:
            scores.append(score)
            score, s = 0.0, env.reset()
        if t % 40 == 0:
            print("t=%d eps=%.2f mean score %.3f loss %s memory %d  %.1fs" % (
                t, agent.epsilon, np.mean(scores[-10:]) if scores else 0.0, loss, len(agent.memory), time.time() - t0))
    print("updates:", agent.updates)


if __name__ == "__main__":
    main()
