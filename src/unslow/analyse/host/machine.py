"""What the machine around a loop did: rates of the watcher's columns while the loop ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unslow.model import Loop, Process, Run

if TYPE_CHECKING:
    from unslow.model import Floats


def process_of(run: Run, loop: Loop) -> Process:
    return next(process for process in run.processes if process.index == loop.process)


def during(process: Process, loop: Loop, name: str) -> tuple[Floats, Floats]:
    """Times and values of a column while a loop ran; empty where it was not read."""
    column = process.ticks.columns.get(name)
    if column is None:
        return np.zeros(0), np.zeros(0)
    inside = (
        (process.ticks.time >= loop.start) & (process.ticks.time <= loop.stop) & np.isfinite(column)
    )
    return process.ticks.time[inside], column[inside]


def gained(process: Process, loop: Loop, name: str) -> float | None:
    """How much a counter rose per second of the loop; None with fewer than two readings."""
    times, values = during(process, loop, name)
    if len(values) < 2 or times[-1] <= times[0]:
        return None
    return float((values[-1] - values[0]) / (times[-1] - times[0]))


def processor_seconds(process: Process, start: float, stop: float) -> float | None:
    """Seconds that a process computed in an interval, on all cores; None where it was not read.

    A busy machine makes an interval longer, not this.
    """
    user, system = (process.ticks.columns.get(name) for name in ("user_cpu", "system_cpu"))
    if user is None or system is None or len(user) < 2:
        return None
    spent = user + system
    known = np.isfinite(spent)
    if known.sum() < 2:
        return None
    edges = np.interp([start, stop], process.ticks.time[known], spent[known])
    return float(edges[1] - edges[0])
