import random
from collections import deque

import numpy as np


class Replay:
    def __init__(self, capacity):
        self.items = deque(maxlen=capacity)

    def push(self, *transition):
        self.items.append(transition)

    def __len__(self):
        return len(self.items)

    def sample(self, n):
        s, a, r, s2, d = zip(*random.sample(self.items, n))
        return (np.stack(s), np.array(a, np.int32), np.array(r, np.float32),
                np.stack(s2), np.array(d, np.float32))
