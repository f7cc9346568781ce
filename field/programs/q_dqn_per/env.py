import numpy as np


class PointMaze:
    """Walk to the goal on a torus; the state is the offset and a wind."""
    n_actions = 5
    state_dim = 6
    MOVES = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]], np.float32) * 0.1

    def __init__(self, seed=0, limit=60):
        self.rng = np.random.default_rng(seed)
        self.limit = limit

    def reset(self):
        self.pos = self.rng.uniform(-1, 1, 2).astype(np.float32)
        self.wind = self.rng.uniform(-0.03, 0.03, 2).astype(np.float32)
        self.t = 0
        return self._obs()

    def _obs(self):
        return np.concatenate([self.pos, np.abs(self.pos), self.wind * 10]).astype(np.float32)

    def step(self, a):
        self.pos = (self.pos + self.MOVES[a] + self.wind + 1) % 2 - 1
        self.t += 1
        d = float(np.linalg.norm(self.pos))
        done = d < 0.12 or self.t >= self.limit
        return self._obs(), (1.0 if d < 0.12 else -0.02 - 0.02 * d), done
