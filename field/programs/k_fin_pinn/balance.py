"""Weights of the loss terms: the equation first counts little, root and tip keep theirs."""
import math
from typing import NamedTuple


class Balance(NamedTuple):
    equation: float
    root: float
    tip: float


class Curriculum:
    """Raises the weight of the equation along a half cosine, in plateaus of `hold` updates."""

    def __init__(self, updates, hold=6, floor=0.05, ceiling=1.0):
        self.updates, self.hold = updates, hold
        self.floor, self.ceiling = floor, ceiling

    def at(self, update):
        phase = min(1.0, update // self.hold * self.hold / self.updates)
        lift = 0.5 - 0.5 * math.cos(math.pi * phase)
        equation = self.floor + (self.ceiling - self.floor) * lift
        return Balance(equation=equation, root=8.0 - 4.0 * lift, tip=4.0)
