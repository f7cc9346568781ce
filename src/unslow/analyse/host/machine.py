"""What the machine around a loop did: rates of the watcher's columns while the loop ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unslow.model import Loop, Process, Run

if TYPE_CHECKING:
    from unslow.model import Floats

_WAITED = 0.15  # of the time in which the training thread could have run, it did not
_LEAST_READY = 0.02  # seconds per second: a thread that runs less says nothing about the others
_OTHERS = 0.25  # of all cores were used by others


@dataclass(frozen=True)
class Contention:
    """What processes of others took while a loop ran."""

    cores: float
    others: float  # share of all cores that others used
    waited: float  # share of the time in which the training thread could have run

    @property
    def is_busy(self) -> bool:
        return self.waited >= _WAITED and self.others >= _OTHERS


def contention(run: Run, loop: Loop) -> Contention:
    names = ("waited", "ran", "machine_cpu", "user_cpu", "system_cpu")
    rate = {name: gained(run, loop, name) or 0.0 for name in names}
    cores = float(cores_of(run, loop) or 1)
    own = rate["user_cpu"] + rate["system_cpu"] + _peers(run, loop)
    # The main thread stands for TensorFlow's own threads, for which it sleeps.
    ready = rate["waited"] + rate["ran"]
    return Contention(
        cores=cores,
        others=max(0.0, rate["machine_cpu"] - own) / cores,
        waited=rate["waited"] / ready if ready >= _LEAST_READY else 0.0,
    )


def _peers(run: Run, loop: Loop) -> float:
    """Processor seconds per second of the other workers of its job on the same machine."""
    process = run.process_of(loop)
    if not process.worker:
        return 0.0
    here = (each for each in run.processes if each.worker and each.host == process.host)
    peers = (each for each in here if each is not process)
    spent = sum(processor_seconds(each, loop.start, loop.stop) or 0.0 for each in peers)
    return spent / max(loop.stop - loop.start, 1e-9)


def cores_of(run: Run, loop: Loop) -> int:
    """The cores of the machine that a loop runs on; 0 where they are unknown."""
    return int(run.process_of(loop).machine.get("cores") or 0)


def during(run: Run, loop: Loop, name: str) -> tuple[Floats, Floats]:
    """Times and values of a column while a loop ran; empty where it was not read."""
    ticks = run.process_of(loop).ticks
    column = ticks.columns.get(name)
    if column is None:
        return np.zeros(0), np.zeros(0)
    time = ticks.time
    inside = (time >= loop.start) & (time <= loop.stop) & np.isfinite(column)
    return time[inside], column[inside]


def gained(run: Run, loop: Loop, name: str) -> float | None:
    """How much a counter rose per second of the loop; None with fewer than two readings."""
    times, values = during(run, loop, name)
    if len(values) < 2 or times[-1] <= times[0]:
        return None
    return float((values[-1] - values[0]) / (times[-1] - times[0]))


def slowdown(process: Process, start: float, stop: float) -> float:
    """How many times as long the main thread took in an interval, since others had its core.

    1 where that is unknown. What is known of a machine that is free is worth as many times more.
    """
    columns = process.ticks.columns
    if not {"waited", "ran"} <= columns.keys():
        return 1.0
    waited, ran = (_gained(process, columns[name], start, stop) for name in ("waited", "ran"))
    return 1.0 + waited / ran if ran >= _LEAST_READY * (stop - start) else 1.0


def _gained(process: Process, column: Floats, start: float, stop: float) -> float:
    """How much a counter rose in an interval; 0 where it was not read twice."""
    known = np.isfinite(column)
    if known.sum() < 2:
        return 0.0
    edges = np.interp([start, stop], process.ticks.time[known], column[known])
    return float(edges[1] - edges[0])


def processor_seconds(process: Process, start: float, stop: float) -> float | None:
    """Seconds that a process computed in an interval, on all cores; None where it was not read.

    A busy machine makes an interval longer, not this.
    """
    columns = process.ticks.columns
    if not {"user_cpu", "system_cpu"} <= columns.keys():
        return None
    spent = columns["user_cpu"] + columns["system_cpu"]
    if np.isfinite(spent).sum() < 2:
        return None
    return _gained(process, spent, start, stop)
