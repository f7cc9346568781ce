import collections

import numpy as np

Transition = collections.namedtuple("Transition", "s a r s2 done")


class PrioritizedMemory:
    """Proportional prioritized experience replay (Schaul et al. 2015)."""

    def __init__(self, capacity, alpha=0.6, eps=1e-3):
        self.capacity = capacity
        self.alpha = alpha
        self.eps = eps
        self.data = collections.deque(maxlen=capacity)
        self.errors = collections.deque(maxlen=capacity)

    def __len__(self):
        return len(self.data)

    def push(self, *args, error=1.0):
        self.data.append(Transition(*args))
        self.errors.append(error)

    def sample(self, n, beta=0.4):
        prios = np.array([(abs(e) + self.eps) ** self.alpha for e in self.errors])
        probs = prios / prios.sum()
        idx = np.random.choice(len(self.data), n, p=probs)
        weights = (len(self.data) * probs[idx]) ** -beta
        batch = Transition(*map(np.array, zip(*[self.data[i] for i in idx])))
        return idx, batch, (weights / weights.max()).astype(np.float32)

    def update(self, idx, errors):
        for i, e in zip(idx, errors):
            self.errors[i] = e
