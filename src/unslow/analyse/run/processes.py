"""What a process says about itself: versions, probes, counters, and what recording cost."""

from __future__ import annotations

import json

import numpy as np

from unslow.analyse.run.recorded import Recorded
from unslow.facts.machine import Machine
from unslow.facts.process import End, Imported, ProbeState, ProcessStart, Tick
from unslow.model import Process, Ticks

_NANOSECONDS = 1e9
_NOT_COUNTERS = frozenset(("time", "process", "own_cpu", "watcher"))
# Where a process was killed: nothing says which probes had been armed, but these always are.
_USUAL_PROBES = ("functions", "sessions", "eager", "keras", "input", "tensors", "gc")
# What a step pays, as a multiple of closing its row: measured by bench/blocks.py in compiled steps.
_TIMES_ROW_COST = 3.0
_KILLED = End(how="killed")
_MACHINE = sorted(Machine.FIELDS.keys() - {"time", "process"})


def process_of(recorded: Recorded) -> Process:
    head = recorded.first(ProcessStart) or ProcessStart(pid=0)
    imported = recorded.first(Imported) or Imported(since=head.time)
    end = recorded.first(End)
    tail = end or _KILLED
    return Process(
        index=recorded.index,
        pid=head.pid,
        host=head.host,
        worker=worker_name(head.cluster),
        argv=head.argv,
        versions={
            "python": head.python,
            "tensorflow": imported.tensorflow,
            "keras": tail.keras or imported.keras,
        },
        started=imported.since,
        ended=_ended(recorded),
        how=tail.how,
        probes=_probes(recorded, end),
        own=_own(recorded, tail),
        ticks=_ticks(recorded),
        machine=_machine(recorded),
    )


def worker_name(cluster: str) -> str:
    """The place of a process in a cluster, from its TF_CONFIG; nothing without one."""
    try:
        task = json.loads(cluster)["task"]
        return f"{task['type']} {task['index']}"
    except (ValueError, KeyError, TypeError):
        return ""


def _ended(recorded: Recorded) -> float:
    last = max(line["t"] for line in recorded.log.lines)
    if len(recorded.rows):
        last = max(last, int(recorded.rows["end"][-1]))
    return float(recorded.seconds(last))


def _probes(recorded: Recorded, end: End | None) -> dict[str, str]:
    known = dict(end.probes) if end is not None else dict.fromkeys(_USUAL_PROBES, "armed")
    return known | {probe.name: probe.state for probe in recorded.of(ProbeState)}


def _own(recorded: Recorded, end: End) -> dict[str, float]:
    """What recording cost: wrapped calls, inspections and the watcher's own processor time."""
    ticks = [tick.own_cpu for tick in recorded.of(Tick) if tick.watcher]
    watcher = max(ticks, default=0.0) / _NANOSECONDS
    rows = _TIMES_ROW_COST * end.rows
    return {
        "seconds": end.calls * end.call_cost + rows + end.inspections + watcher,
        "rows": rows,
        "calls": end.calls,
        "looks": end.inspections,
        "watcher": watcher,
        "call_cost": end.call_cost,
        "samples": end.samples,
        "peak_rss_bytes": end.peak_rss,
        "recorder_bytes": end.recorder_bytes,
    }


def _ticks(recorded: Recorded) -> Ticks:
    """The counters that the system has, over time."""
    ticks = recorded.of(Tick)
    columns = {}
    for name in sorted(Tick.FIELDS.keys() - _NOT_COUNTERS):
        values = np.array([getattr(tick, name) for tick in ticks], dtype=float)
        if not np.isnan(values).all():
            columns[name] = values
    return Ticks(np.array([tick.time for tick in ticks], dtype=float), columns)


def _machine(recorded: Recorded) -> dict[str, float]:
    """The machine's numbers: cores, memory, limits."""
    machine = recorded.first(Machine)
    return {name: getattr(machine, name) for name in _MACHINE} if machine is not None else {}
