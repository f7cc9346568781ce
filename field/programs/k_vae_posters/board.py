"""Collects what the run shows at its end: the course of both losses and a row of reconstructions."""
from collections import defaultdict

import numpy as np


class Board:
    def __init__(self, shown=8):
        self.shown = shown
        self.series = defaultdict(list)

    def note(self, **values):
        for name, value in values.items():
            self.series[name].append(value)

    def mean(self, name, last):
        return float(np.mean([float(v) for v in self.series[name][-last:]]))

    def strip(self):
        """Originals above their reconstructions, as one picture."""
        seen = self.series["original"][-1][: self.shown]
        made = self.series["rebuilt"][-1][: self.shown]
        rows = [np.concatenate(list(np.asarray(part)), axis=1) for part in (seen, made)]
        return np.concatenate(rows, axis=0)
