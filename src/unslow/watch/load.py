"""How much of the machine other programs used during a block: by ticks or our readings."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from unslow.facts.json_object import JsonObject

_MOST_READINGS = 512  # readings kept; they cover at least the last minutes
_FULL_SHARE = 0.9  # of all cores: above it, whoever wants to run waits
_NOTICEABLE = 0.1  # of all cores, used by others: a training may well fill the machine alone
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Reading:
    """Processor seconds up to a moment of the process's clock."""

    time: float
    machine: float  # of all programs, and taken away by a hypervisor or a quota
    own: float  # of the training


@dataclass(frozen=True, slots=True)
class Usage:
    """How the processors were used during a block."""

    machine: float = 0.0  # share of all cores, by anyone
    others: float = 0.0  # share of all cores, by other programs
    own: float = 0.0  # processor seconds of the training

    @property
    def crowded(self) -> bool:
        """Whether others leave too little: a step then takes as long as they let it."""
        return self.machine >= _FULL_SHARE and self.others >= _NOTICEABLE


@dataclass(slots=True)
class Load:
    """Readings in the order of time, and what lies between them."""

    cores: int = 0
    _readings: list[Reading] = field(default_factory=list)

    def add(self, reading: Reading | None) -> None:
        if reading is None or (self._readings and reading.time <= self._readings[-1].time):
            return
        self._readings.append(reading)
        if len(self._readings) > _MOST_READINGS:
            del self._readings[: _MOST_READINGS // 4]

    @property
    def span(self) -> tuple[float, float]:
        """From the first reading to the last."""
        times = [each.time for each in (*self._readings[:1], *self._readings[-1:])]
        return (times[0], times[-1]) if times else (0.0, 0.0)

    def recent(self, seconds: float) -> float | None:
        """The cores that the training used in the last seconds."""
        if len(self._readings) < 2:
            return None
        last = self._readings[-1]
        times = [each.time for each in self._readings]
        first = self._readings[min(len(times) - 2, bisect_left(times, last.time - seconds))]
        return max(0.0, (last.own - first.own) / (last.time - first.time))

    def usage(self, begin: float, end: float) -> Usage:
        """What the processors did meanwhile; nothing where nobody says."""
        times = [each.time for each in self._readings]
        if len(times) < 2 or not self.cores or end <= begin:
            return Usage()
        machine = self._between(begin, end, times, [each.machine for each in self._readings])
        own = self._between(begin, end, times, [each.own for each in self._readings])
        all_of_it = (end - begin) * self.cores
        share = min(1.0, max(0.0, machine / all_of_it))
        others = min(1.0, max(0.0, (machine - own) / all_of_it))
        return Usage(share, others, max(0.0, own))

    def _between(self, begin: float, end: float, times: list[float], values: list[float]) -> float:
        at_begin, at_end = np.interp([begin, end], times, values)
        return float(at_end - at_begin)


def of_tick(tick: JsonObject) -> Reading | None:
    """What the recorder read inside the training."""
    try:
        machine = float(tick["machine_cpu"]) + float(tick.get("steal") or 0.0)
        machine += float(tick.get("throttled") or 0.0)
        own = float(tick["user_cpu"]) + float(tick["system_cpu"])
        return Reading(int(tick["t"]) / 1e9, machine, own)
    except (KeyError, TypeError, ValueError):  # the system does not tell
        return None


def of_process(pid: int, now: float) -> Reading | None:
    """The same, read here: a training of many hours ticks too rarely. None if it cannot be read."""
    try:
        fields = (_PROC / "stat").read_text().partition("\n")[0].split()[1:]
        ticks = os.sysconf("SC_CLK_TCK")
        machine = (sum(map(int, fields[:3])) + sum(map(int, fields[5:8]))) / ticks
        return Reading(now, machine, sum(map(_processor_seconds, _family(pid))))
    except (OSError, ValueError, IndexError):
        return None


def _processor_seconds(pid: int) -> float:
    """Of a process and its children that have ended."""
    fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _family(pid: int, depth: int = 4) -> Iterator[int]:
    """A process and the processes below it: its workers are no others."""
    yield pid
    if depth == 0:
        return
    for task in (_PROC / str(pid) / "task").iterdir():
        try:
            children = (task / "children").read_text().split()
        except OSError:  # a thread that has ended, or a system that does not list them
            continue
        for child in children:
            yield from _family(int(child), depth - 1)
