"""Toy reservoir: three connected basins, one gate each, seasonal inflow."""
import numpy as np


class BasinEnv:
    n_obs = 9
    n_act = 3

    def __init__(self, seed=0, horizon=120):
        self.rng = np.random.RandomState(seed)
        self.horizon = horizon

    def reset(self):
        self.t = 0
        self.level = self.rng.uniform(0.3, 0.7, 3)
        self.phase = self.rng.uniform(0, 2 * np.pi)
        self.last = np.zeros(3)
        return self._obs()

    def _obs(self):
        season = np.array([np.sin(self.phase + 0.1 * self.t), np.cos(self.phase + 0.1 * self.t), self.t / self.horizon])
        return np.concatenate([self.level, self.last, season]).astype(np.float32)

    def step(self, action):
        gate = 0.5 * (np.clip(action, -1, 1) + 1) * 0.2
        inflow = 0.08 + 0.05 * np.sin(self.phase + 0.1 * self.t) + 0.02 * self.rng.randn(3)
        out = np.minimum(gate, self.level)
        self.level = self.level + inflow - out
        self.level[1:] += 0.4 * out[:-1]
        spill = np.maximum(self.level - 1.0, 0)
        self.level = np.clip(self.level, 0, 1)
        reward = float(2.0 * out.sum() - 5.0 * spill.sum() - np.square(self.level - 0.6).sum())
        self.last = out
        self.t += 1
        return self._obs(), reward, self.t >= self.horizon
