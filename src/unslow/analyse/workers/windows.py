"""Exact times of collectives, from profiler windows that all workers opened in the same steps."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from unslow.analyse.host import xplane
from unslow.analyse.host.xplane import CollectiveSpan, Shared
from unslow.analyse.workers.job import Exact
from unslow.analyse.workers.step_account import Table
from unslow.facts.workers import SharedWindow
from unslow.model import Run

# Reading a profile takes about 50 ms; of a large job some workers' are read, evenly chosen.
_MOST_WORKERS = 64
_MOST_WINDOWS = 6
_LEAST_STEPS = 3  # seen on all workers: fewer are chance

Spans = list[CollectiveSpan]
Floats = npt.NDArray[np.float64]


def exact_of(
    run: Run, processes: Sequence[int], table: Table
) -> tuple[Exact | None, dict[int, float]]:
    """What the windows measured, and each worker's rate of computing (see `pace_of`)."""
    rows = _chosen(len(processes))
    by_row = {row: _spans(run, processes[row]) for row in rows}
    if not rows or not all(by_row.values()):
        return None, {}
    steps = _steps(by_row, table)
    if len(steps) < _LEAST_STEPS:
        return None, {}
    firsts = np.array([[_first(steps[at][row]) for at in steps] for row in rows])
    unions = np.array([[xplane.covered(steps[at][row]) for at in steps] for row in rows])
    counts = [len(steps[at][rows[0]]) for at in steps]
    fed = np.nanmean(table.mean["input"][:, list(steps)], axis=1)
    rates, computed = _rates(table, rows, list(steps), unions)
    exact = Exact(
        workers=tuple(rows),
        steps=len(steps),
        spans=np.median(firsts, axis=1),
        transfer=float(np.median(unions.min(axis=0))),
        collectives=float(np.mean(counts)),
        input=np.array(
            [_input_share(run, processes[row], computed[row], fed[row]) for row in rows]
        ),
    )
    return exact, rates


def _chosen(workers: int) -> list[int]:
    if workers <= _MOST_WORKERS:
        return list(range(workers))
    return sorted(set(np.linspace(0, workers - 1, _MOST_WORKERS).astype(int).tolist()))


def _spans(run: Run, process: int) -> Spans:
    found: Spans = []
    for window in run.facts(SharedWindow, process)[:_MOST_WINDOWS]:
        profile = _profile(run, window)
        found += profile.collectives if profile is not None else []
    return found


def _steps(by_row: Mapping[int, Spans], table: Table) -> dict[int, dict[int, Spans]]:
    """Column → worker → its collectives, for steps that all of them saw from first to last."""
    last = table.key.max(axis=0)  # the last key of each column, the same on all workers
    single = (table.columns.count == 1) & (last >= 0)
    single[1:] &= last[:-1] >= 0
    found: dict[int, dict[int, Spans]] = {}
    for row, spans in by_row.items():
        for span in spans:
            column = int(np.searchsorted(last, span.key))
            if 0 < column < len(last) and single[column]:
                found.setdefault(column, {}).setdefault(row, []).append(span)
    whole = {}
    for column, seen in sorted(found.items()):
        wanted = int(last[column] - last[column - 1])
        if len(seen) == len(by_row) and all(_keys(s) == wanted for s in seen.values()):
            whole[column] = seen
    return whole


def _keys(spans: Iterable[CollectiveSpan]) -> int:
    return len({span.key for span in spans})


def _first(spans: Spans) -> float:
    """The length of the first collective: later ones find the workers close together."""
    return min(spans, key=lambda span: span.start).length


def _rates(
    table: Table, rows: Sequence[int], columns: Sequence[int], unions: Floats
) -> tuple[dict[int, float], dict[int, float]]:
    """Processor time per second of the call that was not spent in collectives, and these seconds
    per step.
    """
    mean = table.mean
    rates, seconds = {}, {}
    for at, row in enumerate(rows):
        inside = mean["wall"][row, columns] - mean["before"][row, columns]
        computed = float(np.nansum(np.maximum(inside - unions[at], 0)))
        used = float(np.nansum(mean["inside"][row, columns]))
        seconds[row] = computed / max(1, len(columns))
        if computed > 0 and used > 0:
            rates[row] = used / computed
    return rates, seconds


def _input_share(run: Run, process: int, computed: float, outside: float) -> float:
    """How much of a call's own time waits for the input pipeline, inside of the graph.

    `outside`: what a step waits for elements before that call.
    """
    waited, steps = 0.0, 0
    for window in run.facts(SharedWindow, process)[:_MOST_WINDOWS]:
        profile = _profile(run, window)
        if profile is not None:
            waited += xplane.covered(profile.inputs)
            steps += window.steps
    inside = max(0.0, waited / max(1, steps) - outside)
    return min(1.0, inside / computed) if computed > 0 else 0.0


def _profile(run: Run, window: SharedWindow) -> Shared | None:
    path = Path(run.folder) / os.path.normpath(window.file)
    try:
        return xplane.shared_spans(path.read_bytes())
    except (OSError, ValueError):
        return None
