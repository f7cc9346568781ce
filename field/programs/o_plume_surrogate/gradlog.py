"""Keeps an eye on how the gradients of the layers develop."""
import collections

import numpy as np


class GradientLog:
    def __init__(self, names, window=20):
        self.names = list(names)
        self.window = window
        self.records = collections.defaultdict(list)
        self.steps = 0

    def add(self, grads, loss):
        self.steps += 1
        for name, g in zip(self.names, grads):
            self.records[name].append(g)
        self.records["loss"].append(loss)

    def norms(self, name):
        return np.array([np.linalg.norm(g) for g in self.records[name]])

    def summary(self):
        rows = []
        for name in self.names:
            n = self.norms(name)
            rows.append((name, n[:self.window].mean(), n[-self.window:].mean(), n.max()))
        return rows

    def recent_loss(self):
        return float(np.mean([float(v) for v in self.records["loss"][-self.window:]]))
