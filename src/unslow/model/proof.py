"""What trials of before and after prove."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Verdict(enum.Enum):
    PROVED = "proved"
    NO_EFFECT = "no effect"
    SLOWER = "slower"
    RESULTS_DIFFER = "results differ"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Growth:
    """What grew with the steps, in seconds or bytes per step: before the change and after it."""

    what: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Peak:
    """The most memory that a process held, in bytes: medians before the change and after it."""

    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Quality:
    """The loss over several seeds, in the third of the steps where after is worst."""

    seeds: int
    before: float
    after: float
    worst_gap: float  # by which after may differ from before, by a test at 5 %; negative: below it
    margin: float  # by which it may: a multiple of the spread of before from seed to seed
    same: bool


@dataclass(frozen=True)
class Proof:
    """Interleaved runs of before and after, and what they say."""

    verdict: Verdict
    speedup: float  # before / after, medians
    low: float
    high: float
    before: tuple[float, ...]  # seconds of `unit`, one per trial
    after: tuple[float, ...]
    steps: int
    difference: float | None  # largest relative difference of the weights, before against after
    noise: float | None  # the same, before against before
    text: str
    growth: Growth | None = None  # that is gone
    peak: Peak | None = None  # where the change is meant to lower it
    unit: str = "a step"  # what was timed: a step, or a run of the whole program
    quality: Quality | None = None  # where the weights differ and the loss was compared instead
