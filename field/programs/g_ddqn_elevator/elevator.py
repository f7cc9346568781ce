import numpy as np


class Elevator:
    """One cabin, eight floors, passengers appear at random; go up, down or open the door."""

    floors = 8

    def __init__(self, seed=0):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.at, self.clock = 0, 0
        self.waiting = self.rng.poisson(0.5, self.floors).astype(float)
        return self.state()

    def state(self):
        here = np.eye(self.floors)[self.at]
        return np.concatenate([here, np.minimum(self.waiting, 5) / 5]).astype(np.float32)

    def step(self, action):
        reward = -0.05 * self.waiting.sum()
        if action == 2:
            reward += self.waiting[self.at]
            self.waiting[self.at] = 0
        else:
            self.at = int(np.clip(self.at + (1 if action == 0 else -1), 0, self.floors - 1))
        self.waiting += self.rng.poisson(0.04, self.floors)
        self.clock += 1
        return self.state(), reward, self.clock >= 25
