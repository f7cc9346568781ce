"""Steps as blocks of a few seconds: the unit in which a training's speed is compared with its past.

A block's value must not depend on how the recorder merged its rows, nor on a few long steps. Rows
are therefore added up by the second, and the middle of these seconds counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from unslow.facts.phase import Phase

BLOCK = 5.0  # seconds: 12 of them fit into the minute in which a slow-down must be reported
SECONDS_IN_BLOCK = 4  # at least; the middle of fewer is no better than their mean
_WARM_UP = 30.0  # seconds at the start of a loop: caches, autotuning and allocators settle
_LEADS = 0.25  # share of the updates that the site which names a block has at least
_NANO = 1e9


@dataclass(frozen=True, slots=True)
class Block:
    """A few seconds of training; times are those of the process's own clock."""

    begin: float
    end: float
    site: int  # the update that leads
    octave: int  # how often the length of a row has doubled beyond a second
    step: float  # seconds a step takes, without validation
    element: float  # seconds per element of its batches; NaN where they are not known
    mean: float  # seconds a step takes, with everything


@dataclass(frozen=True, slots=True)
class _Second:
    """The rows that ended within one second."""

    begin: float
    end: float
    seconds: float  # without validation
    updates: int
    elements: float
    rows: int
    sites: dict[int, int]

    @property
    def step(self) -> float:
        return self.seconds / self.updates

    @property
    def element(self) -> float:
        return self.seconds / self.elements if self.elements > 0 else math.nan


class Blocks:
    """Takes the rows of one process as they are written, and gives the blocks that are complete."""

    def __init__(self) -> None:
        self._open: np.ndarray | None = None  # rows of a second that may not be over
        self._seconds: list[_Second] = []
        self._first: dict[int, float] = {}  # when each site was first seen

    def add(self, rows: np.ndarray) -> list[Block]:
        rows = rows if self._open is None else np.concatenate((self._open, rows))
        if not len(rows):
            return []
        second = rows["end"] // int(_NANO)
        complete = second < second[-1]
        self._open = rows[~complete].copy()
        return self._blocks(_seconds_of(rows[complete], second[complete]))

    def _blocks(self, seconds: list[_Second]) -> list[Block]:
        blocks = []
        for second in seconds:
            self._seconds.append(second)
            length = second.end - self._seconds[0].begin
            if round(length) < BLOCK or len(self._seconds) < SECONDS_IN_BLOCK:
                continue
            block = _block_of(self._seconds)
            self._seconds = []
            first = self._first.setdefault(block.site, block.begin)
            if block.begin - first >= _WARM_UP:
                blocks.append(block)
        return blocks


def _seconds_of(rows: np.ndarray, second: np.ndarray) -> list[_Second]:
    """Rows in the order in which they ended, by the second of their end."""
    if not len(rows):
        return []
    starts = np.flatnonzero(np.diff(second, prepend=second[0] - 1))
    stops = [*starts[1:].tolist(), len(rows)]
    found = [_second_of(rows[a:b]) for a, b in zip(starts.tolist(), stops, strict=True)]
    return [each for each in found if each.seconds > 0]


def _second_of(rows: np.ndarray) -> _Second:
    counts = rows["count"].astype(np.int64)
    spent = rows["total"].sum() - rows["phases"][:, Phase.EVAL].sum()
    sites, where = np.unique(rows["site"], return_inverse=True)
    updates = np.bincount(where, weights=counts)
    return _Second(
        begin=float(rows["end"][0] - rows["total"][0]) / _NANO,
        end=float(rows["end"][-1]) / _NANO,
        seconds=float(spent) / _NANO,
        updates=int(counts.sum()),
        elements=float(rows["elements"].sum()),
        rows=len(rows),
        sites=dict(zip(sites.tolist(), updates.astype(int).tolist(), strict=True)),
    )


def _block_of(seconds: list[_Second]) -> Block:
    rows = sum(each.rows for each in seconds)
    length = sum(each.seconds for each in seconds) / rows
    return Block(
        begin=seconds[0].begin,
        end=seconds[-1].end,
        site=_leading(seconds),
        octave=max(0, math.ceil(math.log2(length))) if length > 1 else 0,
        step=middle([each.step for each in seconds]),
        element=middle([each.element for each in seconds]),
        mean=(seconds[-1].end - seconds[0].begin) / sum(each.updates for each in seconds),
    )


def _leading(seconds: list[_Second]) -> int:
    """The first site with a real share: of several updates in one iteration always the same."""
    totals: dict[int, int] = {}
    for each in seconds:
        for site, count in each.sites.items():
            totals[site] = totals.get(site, 0) + count
    least = _LEADS * sum(totals.values())
    return min((site for site, count in totals.items() if count >= least), default=min(totals))


def middle(values: list[float]) -> float:
    """The mean of the middle half: a long step or two do not move it."""
    ordered = sorted(values)
    trim = max(1, len(ordered) // 4)
    inner = ordered[trim : len(ordered) - trim]
    return sum(inner) / len(inner)
