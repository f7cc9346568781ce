"""Which moment is the same on the clocks of several machines.

Processes of one machine share a clock. Between machines the wall clocks are compared first, which
may be an hour apart; then the ends of the steps that all workers make together, which are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unslow.analyse.workers.job import Clock, Origin
from unslow.analyse.workers.records import records_of
from unslow.facts.process import ProcessStart
from unslow.facts.stored_text import StoredText
from unslow.facts.workers import SyncBlock, WorkerIdentity
from unslow.runfolder.layout import ProcessLog

_SECOND = 1e9
# Processes of one host whose wall clocks disagree by more ran before and after a restart of it.
_SAME_CLOCK = 1_000_000_000
_ENOUGH = 3  # shared steps: fewer may be chance


@dataclass(frozen=True)
class Timed:
    """One process, as far as its clock is concerned; nanoseconds."""

    host: str
    began: int  # by its own clock
    wall: int  # the wall's time at 0 of its own clock
    job: str  # of which it is a worker; "" for none
    blocks: tuple[str | StoredText, ...] = ()  # of its steps, unread: most runs have one clock

    def read(self) -> np.ndarray:
        return records_of(self.blocks)


def timed(log: ProcessLog, began: int) -> Timed:
    """A process as it was written, before anything is decoded."""
    head = next((line for line in log.lines if line["k"] == ProcessStart.kind), {})
    identity = next((line for line in log.lines if line["k"] == WorkerIdentity.kind), {})
    facts = [line.get("data") for line in log.lines if line["k"] == SyncBlock.kind]
    blocks = [data for data in facts if isinstance(data, str | StoredText)]
    return Timed(
        host=str(head.get("host", "")),
        began=began,
        wall=_whole(head.get("wall_at")) - _whole(head.get("clock_at")),
        job=str(identity.get("job", "")),
        blocks=tuple(blocks),
    )


def _whole(value: object) -> int:
    return value if isinstance(value, int) and abs(value) < 1 << 63 else 0


def origins(processes: Sequence[Timed]) -> list[Origin]:
    """When the run began, by the clock of each process."""
    if not processes:
        return []
    groups = _clocks(processes)
    numbers = sorted(set(groups))
    if len(numbers) == 1:
        start = min(process.began for process in processes)
        return [Origin(start, Clock()) for _ in processes]
    walls = _wall_by_group(processes, groups)
    shifts = {number: Clock() for number in numbers}
    shifts.update(_by_steps(processes, groups, walls))
    at_zero = {n: walls[n] + round(shifts[n].offset * _SECOND) for n in numbers}
    began = min(one.began + at_zero[group] for one, group in zip(processes, groups, strict=True))
    return [Origin(began - at_zero[group], shifts[group]) for group in groups]


def _clocks(processes: Sequence[Timed]) -> list[int]:
    """The number of the clock that each process reads."""
    known: list[tuple[str, int]] = []
    numbers = []
    for process in processes:
        for number, (host, wall) in enumerate(known):
            if host == process.host and abs(wall - process.wall) <= _SAME_CLOCK:
                numbers.append(number)
                break
        else:
            numbers.append(len(known))
            known.append((process.host, process.wall))
    return numbers


def _wall_by_group(processes: Sequence[Timed], groups: Sequence[int]) -> dict[int, int]:
    found: dict[int, list[int]] = {}
    for process, group in zip(processes, groups, strict=True):
        found.setdefault(group, []).append(process.wall)
    # No mean of two: nanoseconds since the epoch do not fit a float.
    return {group: sorted(walls)[len(walls) // 2] for group, walls in found.items()}


def _by_steps(
    processes: Sequence[Timed], groups: Sequence[int], walls: Mapping[int, int]
) -> dict[int, Clock]:
    """How much later each clock shows the same step than the first that has steps."""
    shifts: dict[int, Clock] = {}
    reference = np.zeros(0)
    job, of_reference = "", -1
    for process, group in zip(processes, groups, strict=True):
        if not process.job or group in shifts or job not in ("", process.job):
            continue
        records = process.read()  # those of all processes are never held together
        if len(records) < _ENOUGH:
            continue
        if not job:
            reference, job, of_reference = records, process.job, group
            shifts[group] = Clock()
            continue
        ends = _same_ends(reference, records)
        if len(ends[0]) < _ENOUGH:
            continue
        apart = (ends[0] + walls[of_reference]) - (ends[1] + walls[group])
        shifts[group] = clock_of(apart / _SECOND)
    return shifts


def _same_ends(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """When the same steps ended, by each clock: the key of the last collective is shared."""
    known = one["key"] >= 0
    _, first, second = np.intersect1d(
        one["key"][known], other["key"], assume_unique=False, return_indices=True
    )
    return one["end"][known][first], other["end"][second]


def clock_of(apart: np.ndarray) -> Clock:
    """A clock from the times that lie between the same ends on it and on the reference.

    Workers leave a collective at slightly different times: the median is taken, and half of the
    middle half's width is how far off it may be.
    """
    low, median, high = np.percentile(apart, (25, 50, 75))
    return Clock(float(median), float((high - low) / 2), len(apart))
