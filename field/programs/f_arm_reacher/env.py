import numpy as np


class Arm:
    """Two joints; a coarse depth picture of the table is part of what the agent sees."""

    def __init__(self, seed=0, pixels=24):
        self.rng = np.random.RandomState(seed)
        self.pixels = pixels
        axis = np.linspace(-2, 2, pixels)
        self.xs, self.ys = np.meshgrid(axis, axis)

    def reset(self):
        self.q = self.rng.uniform(-1, 1, 2)
        self.goal = self.rng.uniform(-1.2, 1.2, 2)
        self.t = 0
        return self._view()

    def _hand(self):
        a, b = self.q[0], self.q[0] + self.q[1]
        return np.array([np.cos(a) + np.cos(b), np.sin(a) + np.sin(b)])

    def _view(self):
        h = self._hand()
        hand = np.exp(-8 * ((self.xs - h[0]) ** 2 + (self.ys - h[1]) ** 2))
        goal = np.exp(-8 * ((self.xs - self.goal[0]) ** 2 + (self.ys - self.goal[1]) ** 2))
        return np.concatenate([(hand - goal).ravel(), self.q]).astype(np.float32)

    def step(self, torque):
        self.q = np.clip(self.q + 0.15 * np.asarray(torque), -3, 3)
        self.t += 1
        distance = float(np.linalg.norm(self._hand() - self.goal))
        return self._view(), -distance, self.t >= 50 or distance < 0.1
