import numpy as np


class Catch:
    """A ball falls down a 12x12 board; the paddle has to be below it."""

    def __init__(self, size=12, seed=0):
        self.size = size
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.ball = [0, int(self.rng.integers(self.size))]
        self.paddle = self.size // 2
        return self.frame()

    def frame(self):
        board = np.zeros((self.size, self.size), np.float32)
        board[self.ball[0], self.ball[1]] = 1.0
        board[-1, self.paddle] = 1.0
        return board.ravel()

    def step(self, action):
        self.paddle = int(np.clip(self.paddle + action - 1, 0, self.size - 1))
        self.ball[0] += 1
        done = self.ball[0] == self.size - 1
        reward = (1.0 if abs(self.ball[1] - self.paddle) <= 1 else -1.0) if done else 0.0
        return self.frame(), reward, done
