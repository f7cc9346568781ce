"""Two runs compared: what got faster or slower, by loop, phase and cause."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unslow.analyse.input.data_times import NONE, DataTime, data_times
from unslow.analyse.loop_phases import rest_shares, split_phases
from unslow.analyse.stats.growth import bootstrap_ratio
from unslow.compare.match import matched_loops
from unslow.model import Diagnosis, Loop, Run

# Step times of one run are not independent, so means of blocks are resampled. Twenty blocks are
# enough for a bootstrap, and hold several steps each in all but the shortest runs.
_BLOCKS = 20
# A smaller difference between two single runs proves nothing: two recordings of one script were
# taken to differ by up to this. A judgement, not yet measured.
_BETWEEN_RUNS = 0.05
_WORTH_A_ROW = 0.01  # of both loops: a phase that takes less is left out
_BUSY = "noisy-machine"


class Change(enum.Enum):
    """What a comparison of one loop comes to."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "no difference"
    UNKNOWN = "cannot be told"


@dataclass(frozen=True)
class LoopChange:
    """One loop in both runs. A speedup over 1 is faster."""

    before_line: str
    after_line: str
    before: float  # typical seconds per step
    after: float
    speedup: float
    low: float
    high: float
    change: Change
    phases: dict[str, tuple[float, float]]  # mean seconds per step, before and after


@dataclass(frozen=True)
class Comparison:
    loops: tuple[LoopChange, ...]
    only_before: tuple[str, ...]  # lines of loops without a counterpart
    only_after: tuple[str, ...]
    gone: tuple[str, ...]  # causes found in the first run alone
    new: tuple[str, ...]
    stayed: tuple[str, ...]
    disturbed: str  # why the machine makes the comparison worthless, or nothing
    problems: tuple[str, ...]  # runs that crashed or did not train

    def failures(self, slower_by: float) -> Iterator[str]:
        """Why a check that allows steps to be slower by a share must fail."""
        yield from self.problems
        if not self.loops and not self.problems:
            yield "no loop of the first run was found in the second one"
        for loop in self.loops:
            surely_slower = loop.change is Change.SLOWER and 1 / loop.high > 1 + slower_by
            if surely_slower:
                yield f"{loop.after_line} is slower than allowed"


def compare(before: Diagnosis, after: Diagnosis) -> Comparison:
    pairs = matched_loops(before.run, after.run)
    disturbed = _disturbed(before, after)
    data_before, data_after = data_times(before.run), data_times(after.run)
    sides = [
        (
            _Side(before.run, one, data_before.get(one, NONE)),
            _Side(after.run, other, data_after.get(other, NONE)),
        )
        for one, other in pairs
    ]
    first, second = _causes(before), _causes(after)
    return Comparison(
        loops=tuple(_loop_change(one, other, bool(disturbed)) for one, other in sides),
        only_before=_lines(before.run, {one for one, _ in pairs}),
        only_after=_lines(after.run, {other for _, other in pairs}),
        gone=tuple(sorted(first - second)),
        new=tuple(sorted(second - first)),
        stayed=tuple(sorted(first & second)),
        disturbed=disturbed,
        problems=(*_problems("first", before.run), *_problems("second", after.run)),
    )


def _causes(diagnosis: Diagnosis) -> set[str]:
    return {finding.cause for finding in diagnosis.findings if finding.fault}


def _lines(run: Run, matched: set[Loop]) -> tuple[str, ...]:
    return tuple(str(loop.location) for loop in run.loops if loop not in matched)


def _problems(which: str, run: Run) -> Iterator[str]:
    if run.ended != "exit 0":
        yield f"the {which} run did not end well: {run.ended}"
    if not run.loops:
        yield f"the {which} run has no training loop"


def _disturbed(before: Diagnosis, after: Diagnosis) -> str:
    """Other programs used the processor during a run: its times say nothing about the script."""
    for which, diagnosis in (("first", before), ("second", after)):
        for finding in diagnosis.findings:
            if finding.cause == _BUSY or _BUSY in finding.merged:
                return f"the machine was busy during the {which} run"
    return ""


class _Side(NamedTuple):
    """A loop in one of the two runs."""

    run: Run
    loop: Loop
    data: DataTime

    def phases(self) -> dict[str, float]:
        """Seconds a step by phase, as the report of the run has them."""
        taken = split_phases(self.loop, self.data, rest_shares(self.loop, self.run.samples))
        return {name: seconds / self.loop.steps for name, seconds in taken.items()}


def _loop_change(first: _Side, second: _Side, disturbed: bool) -> LoopChange:
    one, other = first.loop, second.loop
    speedup, low, high = bootstrap_ratio(_blocks(one), _blocks(other))
    low, high = low / (1 + _BETWEEN_RUNS), high * (1 + _BETWEEN_RUNS)
    return LoopChange(
        before_line=str(one.location),
        after_line=str(other.location),
        before=one.typical(),
        after=other.typical(),
        speedup=speedup,
        low=low,
        high=high,
        change=Change.UNKNOWN if disturbed else _change(low, high),
        phases=dict(_phases(first, second)),
    )


def _change(low: float, high: float) -> Change:
    if low > 1:
        return Change.FASTER
    if high < 1:
        return Change.SLOWER
    narrow = high / low < (1 + 2 * _BETWEEN_RUNS) ** 2
    return Change.SAME if narrow else Change.UNKNOWN


def _phases(first: _Side, second: _Side) -> Iterator[tuple[str, tuple[float, float]]]:
    before, after = first.phases(), second.phases()
    one, other = first.loop, second.loop
    for name in {**before, **after}:
        pair = before.get(name, 0.0), after.get(name, 0.0)
        spent = pair[0] * one.steps + pair[1] * other.steps
        if spent > _WORTH_A_ROW * (one.total + other.total):
            yield name, pair


def _blocks(loop: Loop) -> list[float]:
    steady = loop.steady()
    parts = np.array_split(steady, min(_BLOCKS, max(1, len(steady))))
    return [float(part.mean()) for part in parts if len(part)]
