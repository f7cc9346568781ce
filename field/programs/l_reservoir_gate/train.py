import argparse
import time

import numpy as np
import tensorflow.compat.v1 as tf

from agent import DDPGAgent
from basin import BasinEnv


class Replay:
    def __init__(self, n_obs, n_act, size):
        self.o = np.zeros((size, n_obs), np.float32)
        self.a = np.zeros((size, n_act), np.float32)
        self.r = np.zeros(size, np.float32)
        self.o2 = np.zeros((size, n_obs), np.float32)
        self.d = np.zeros(size, np.float32)
        self.size, self.ptr, self.n = size, 0, 0

    def add(self, o, a, r, o2, d):
        i = self.ptr
        self.o[i], self.a[i], self.r[i], self.o2[i], self.d[i] = o, a, r, o2, d
        self.ptr = (i + 1) % self.size
        self.n = min(self.n + 1, self.size)

    def sample(self, k, rng):
        i = rng.randint(0, self.n, k)
        return self.o[i], self.a[i], self.r[i], self.o2[i], self.d[i]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--episodes", type=int, default=16)
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--warmup", type=int, default=240)
    p.add_argument("--sync-every", type=int, default=20)
    p.add_argument("--seed", type=int, default=3)
    args = p.parse_args()

    rng = np.random.RandomState(args.seed)
    tf.set_random_seed(args.seed)
    env = BasinEnv(args.seed)
    memory = Replay(env.n_obs, env.n_act, 20000)
    updates = 0
    with tf.Session() as sess:
        agent = DDPGAgent(sess, env.n_obs, env.n_act)
        t0 = time.time()
        for ep in range(args.episodes):
            obs, done, ret, losses = env.reset(), False, 0.0, []
            while not done:
                if memory.n < args.warmup:
                    a = rng.uniform(-1, 1, env.n_act)
                else:
                    a = agent.act(obs, noise=0.15, rng=rng)
                obs2, r, done = env.step(a)
                memory.add(obs, a, r, obs2, 0.0)
                obs, ret = obs2, ret + r
                if memory.n >= args.warmup:
                    losses.append(agent.train_step(memory.sample(args.batch, rng))[0])
                    updates += 1
                    if updates % args.sync_every == 0:
                        agent.update_targets()
            if losses:
                print("ep %2d  return %8.2f  critic %.4f  %.1fs" % (ep, ret, np.mean(losses), time.time() - t0))
        print("updates", updates)


if __name__ == "__main__":
    main()
