"""Months of healthy training, and slow-downs put into them, made from the noise of real recordings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.watch.noise import LongRun, StepNoise, kept, step_noises
from unslow.watch.blocks import BLOCK, Block, middle
from unslow.watch.load import Usage
from unslow.watch.measured import measured
from unslow.watch.slowdown import SlowdownTest

DAY = 86_400
_SECONDS = 4000  # drawn once per recording; blocks are made of them
_MOST_STEPS = 200  # in a second: more would only make it calmer
_SEGMENT = 50  # steps that are drawn together, on average: noise comes in bursts
_LONG_SEGMENT = 60  # blocks of a long run that are drawn together: five minutes
_WANDER_SEGMENT = 240  # blocks: twenty minutes
_SMOOTH = 24  # blocks over which a long run is averaged to see its slow wander
_ALONE = Usage(0.5, 0.01, 0.0)

Pair = tuple[Block, Usage]


def drawn_together(series: Any, size: int, segment: int, rng: np.random.Generator) -> Any:
    """The stationary bootstrap: segments of random lengths, from random places, one after the other."""
    jumps = rng.random(size) < 1 / segment
    jumps[0] = True
    starts = rng.integers(0, len(series), size)
    last = np.maximum.accumulate(np.where(jumps, np.arange(size), 0))
    places = (starts[last] + np.arange(size) - last) % len(series)
    return series[places]


def block_values(noise: StepNoise, rng: np.random.Generator) -> Any:
    """Values of blocks, relative to the usual step: seconds of drawn steps, then their middle."""
    steps = max(1, min(_MOST_STEPS, round(1 / noise.step)))
    drawn = drawn_together(noise.ratios, _SECONDS * steps, _SEGMENT, rng)
    seconds = drawn.reshape(_SECONDS, steps).mean(axis=1)
    each = max(4, math.ceil(BLOCK / max(1.0, noise.step)))
    whole = _SECONDS // each * each
    return np.array([middle(list(row)) for row in seconds[:whole].reshape(-1, each)])


def wander_of(run: LongRun) -> Any:
    """The slow part of a long run's noise, as logarithms around zero."""
    judged = [measured(block, usage) for block, usage in run.blocks]
    values = np.array([times.step for one in judged if (times := one.wall or one.work)])
    smooth = np.convolve(values, np.ones(_SMOOTH) / _SMOOTH, mode="valid")
    return smooth - np.median(smooth)


@dataclass
class Training:
    """A simulated training: blocks without end, slower by a factor from a block on."""

    noise: StepNoise
    wander: Any
    rng: np.random.Generator
    busy: bool = False
    slower: float = 1.0
    slower_from: int = -1

    def blocks(self, number: int) -> Iterator[Pair]:
        values = self.rng.choice(block_values(self.noise, self.rng), number)
        drift = drawn_together(self.wander, number, _WANDER_SEGMENT, self.rng)
        steps = self.noise.step * values * np.exp(drift)
        if self.slower_from >= 0:
            steps[self.slower_from :] *= self.slower
        usages = _busy_machine(number, self.rng) if self.busy else None
        for at in range(number):
            step, usage = float(steps[at]), _ALONE
            if usages is not None:
                others, factor = usages[at]
                step *= factor
                usage = Usage(min(1.0, 0.5 + others), others, BLOCK * 0.5)
            begin = at * BLOCK
            yield Block(begin, begin + BLOCK, 0, 0, step, math.nan, step), usage


def _busy_machine(number: int, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Other programs come and go: for minutes to hours, each in its own way bad for the training."""
    found: list[tuple[float, float]] = []
    while len(found) < number:
        found += [(0.01, 1.0)] * int(rng.exponential(2 * 3600 / BLOCK))
        length = int(rng.exponential(1200 / BLOCK))
        others = float(rng.uniform(0.15, 0.9))
        factor = 1 + others * float(rng.uniform(0.1, 0.35))
        found += [(others, factor)] * length
    return found[:number]


def as_it_was(run: LongRun, number: int, rng: np.random.Generator) -> Iterator[Pair]:
    """A long run drawn again in segments of minutes, loads and all."""
    for at in drawn_together(np.arange(len(run.blocks)), number, _LONG_SEGMENT, rng):
        yield run.blocks[int(at)]


def alarms(blocks: Iterator[Pair]) -> int:
    test = SlowdownTest()
    return sum(test.add(block, usage) is not None for block, usage in blocks)


@dataclass(frozen=True)
class Delays:
    """How long a slow-down took to be reported, in seconds; infinite where it never was."""

    name: str
    noise: float  # of a block, as the test knew it
    seconds: list[float]


def delays(noise: StepNoise, wander: Any, share: float, trials: int) -> Delays:
    found, sigma = [], 0.0
    for trial in range(trials):
        rng = np.random.default_rng((trial, len(noise.ratios)))
        at = int(rng.integers(120, 720))
        training = Training(noise, wander, rng, slower=1 + share, slower_from=at)
        test, told = SlowdownTest(), math.inf
        for number, (block, usage) in enumerate(training.blocks(at + 120)):
            if number == at:
                sigma = test.noise
            if test.add(block, usage) is not None and number >= at:
                told = (number + 1 - at) * BLOCK
                break
        found.append(told)
    return Delays(noise.name, sigma, found)


DAYS_EACH = 4  # of healthy training for each recording, alone and on a busy machine
DAYS_LONG = 60  # for each long run, as it was
TRIALS = 20  # slow-downs for each recording
SHARE = 0.10


def measure() -> dict[str, Any]:
    """False alarms and delays, as plain data."""
    runs = kept()
    wander = np.concatenate([wander_of(run) for run in runs])
    sources = step_noises()
    found: dict[str, Any] = {
        "long_runs": [_long(run) for run in runs],
        "wander": float(np.std(wander)),
        "recordings": [],
    }
    for number, noise in enumerate(sources):
        found["recordings"].append(_recording(noise, wander, number))
        print(found["recordings"][-1], flush=True)
    return found


def _long(run: LongRun) -> dict[str, Any]:
    number = DAYS_LONG * DAY // int(BLOCK)
    minutes = sum(block.end - block.begin for block, _ in run.blocks) / 60
    false = alarms(as_it_was(run, number, np.random.default_rng(1)))
    print(run.name, false, flush=True)
    crowded = float(np.mean([usage.crowded for _, usage in run.blocks]))
    row = {"name": run.name, "minutes": minutes, "days": DAYS_LONG, "alarms": false}
    return {**row, "crowded": crowded}


def _recording(noise: StepNoise, wander: Any, number: int) -> dict[str, Any]:
    blocks = DAYS_EACH * DAY // int(BLOCK)
    alone, busy = (
        alarms(
            Training(noise, wander, np.random.default_rng((number, flag)), bool(flag)).blocks(
                blocks
            )
        )
        for flag in (0, 1)
    )
    return {
        "name": noise.name,
        "days": DAYS_EACH,
        "alarms": alone,
        "alarms_busy": busy,
        "wandering": told_after(noise, wander),
        "calm": told_after(noise, np.zeros(1)),
    }


def told_after(noise: StepNoise, wander: Any) -> dict[str, Any]:
    """How long a slow-down takes to be reported, with the slow wander of a machine or without."""
    told = delays(noise, wander, SHARE, TRIALS)
    seconds = [each if math.isfinite(each) else None for each in told.seconds]
    return {"noise": told.noise, "delays": seconds}
