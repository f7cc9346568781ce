"""How fast a training has been so far, and how much that wanders by itself; in bounded memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from unslow.model import Floats

ENOUGH = 24  # blocks before anything is compared with them: two minutes
_MOST_ENTRIES = (
    1024  # entries; beyond, neighbors are merged and an entry stands for twice as many blocks
)
_BATCHES = (1, 4, 16, 64)  # entries that are averaged: noise that wanders shows in long averages
_FEWEST_BATCHES = 6  # below which a spread says nothing
_LEAST_NOISE = 0.01  # steps are never taken to be more regular than 1 % (judgement)
_RENEWED = 1.05  # times as many blocks as before, and level and noise are computed again
_TAILS, _NORMAL = (10, 90), 2 * 1.2816  # percentiles, and the sigmas of a normal between them


class History:
    """The logarithms of step times of past blocks: their level and the noise around it."""

    def __init__(self) -> None:
        self._entries: list[float] = []
        self._blocks = 1  # that one entry stands for
        self._partial: list[float] = []
        self._known = (0.0, 0.0)  # level and noise …
        self._known_for = 0  # … when there were this many blocks

    @property
    def is_known(self) -> bool:
        return len(self._entries) * self._blocks >= ENOUGH

    def add(self, value: float) -> None:
        self._partial.append(value)
        if len(self._partial) < self._blocks:
            return
        self._entries.append(sum(self._partial) / len(self._partial))
        self._partial.clear()
        if len(self._entries) > _MOST_ENTRIES:
            pairs = np.asarray(self._entries[: _MOST_ENTRIES // 2 * 2]).reshape(-1, 2)
            self._entries = pairs.mean(axis=1).tolist()
            self._blocks *= 2

    @property
    def level(self) -> float:
        return self._level_and_noise()[0]

    @property
    def noise(self) -> float:
        """The standard deviation of one block, as large as averages of many blocks need it to be.

        Independent blocks average out; a wandering machine does not. The long-run deviation by
        batch means makes a sum of blocks as uncertain as it is.
        """
        return self._level_and_noise()[1]

    def _level_and_noise(self) -> tuple[float, float]:
        blocks = len(self._entries) * self._blocks
        if blocks >= self._known_for * _RENEWED:
            values = np.asarray(self._entries)
            self._known = float(np.median(values)), max(_LEAST_NOISE, self._long_run(values))
            self._known_for = blocks
        return self._known

    def _long_run(self, values: Floats) -> float:
        found = [0.0]
        for size in _BATCHES:
            batches = len(values) // size
            if batches < _FEWEST_BATCHES:
                break
            means = values[len(values) - batches * size :].reshape(batches, size).mean(axis=1)
            low, high = np.percentile(means, _TAILS)
            spread = float(high - low) / _NORMAL * (1 + 2 / batches)  # few batches say too little
            found.append(spread * math.sqrt(size * self._blocks))
        return max(found)
