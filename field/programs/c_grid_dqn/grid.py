import random


class GridWorld:
    """Square grid with pits; the agent starts in one corner and looks for the other."""

    MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))

    def __init__(self, size=8, pits=6, seed=0):
        self.size = size
        self.rng = random.Random(seed)
        self.pits = set()
        while len(self.pits) < pits:
            cell = (self.rng.randrange(size), self.rng.randrange(size))
            if cell not in ((0, 0), (size - 1, size - 1)):
                self.pits.add(cell)
        self.reset()

    def reset(self):
        self.pos = (0, 0)
        self.t = 0
        return self.observe()

    def observe(self):
        x, y = self.pos
        n = self.size - 1
        around = [1.0 if (x + dx, y + dy) in self.pits else 0.0 for dx, dy in self.MOVES]
        return [x / n, y / n, (n - x) / n, (n - y) / n] + around

    def step(self, action):
        dx, dy = self.MOVES[action]
        x = min(max(self.pos[0] + dx, 0), self.size - 1)
        y = min(max(self.pos[1] + dy, 0), self.size - 1)
        self.pos = (x, y)
        self.t += 1
        if self.pos in self.pits:
            return self.observe(), -1.0, True
        if self.pos == (self.size - 1, self.size - 1):
            return self.observe(), 1.0, True
        return self.observe(), -0.01, self.t >= 60
