"""Memory over the run by holder: the process, its allocator, and containers that grow."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from unslow.model import Process, Run
from unslow.report.view.charts import bucket_starts, short
from unslow.report.view.machine import rss_of
from unslow.report.words import Row

POINTS = 1500
HOLDERS = 6
WORTH = 1e6  # bytes: a container that holds less is not drawn


def memory_charts(run: Run) -> list[Row]:
    """One chart per process against the seconds since the run began."""
    charts = []
    for process in run.processes:
        time, rss = rss_of(process)
        if len(rss) < 2:
            continue
        starts = bucket_starts(len(rss), POINTS)
        charts.append(
            {
                "process": process.index,
                "worker": process.worker,
                "x": short(time[starts]),
                "rss": short(np.maximum.reduceat(rss, starts)),
                "heap": _heap(process, starts),
                "holders": holders_of(run, process),
            }
        )
    return charts


def _heap(process: Process, starts: Any) -> list[float | None]:
    """Bytes allocated by the C library's allocator, where it can be queried."""
    rss, used = process.ticks.columns["rss"], process.ticks.columns.get("heap_used")
    if used is None or not np.isfinite(used).any():
        return []
    return short(used[np.isfinite(rss) & (rss > 0)][starts])


def holders_of(run: Run, process: Process) -> list[Row]:
    """The user's containers that grew, the largest first; unreadable inspections are left out."""
    looks: dict[tuple[str, str, str], list[tuple[float, Row]]] = defaultdict(list)
    for event in run.of("containers"):
        found = event.data.get("found")
        if event.process != process.index or not isinstance(found, list):
            continue
        for entry in found:
            if isinstance(entry, dict) and isinstance(entry.get("bytes"), int | float):
                key = (
                    str(entry.get("file", "")),
                    str(entry.get("function", "")),
                    str(entry.get("path", "")),
                )
                looks[key].append((event.time, entry))
    large = [(key, seen) for key, seen in looks.items() if seen[-1][1]["bytes"] >= WORTH]
    large.sort(key=lambda item: -item[1][-1][1]["bytes"])
    return [_holder(*key, seen) for key, seen in large[:HOLDERS]]


def _holder(file: str, function: str, path: str, seen: list[tuple[float, Row]]) -> Row:
    last = seen[-1][1]
    return {
        "path": path,
        "file": file,
        "function": "" if function == "<module>" else function,
        "x": [round(time, 4) for time, _ in seen],
        "bytes": [float(entry["bytes"]) for _, entry in seen],
        "elements": last.get("length"),
        "element": str(last.get("element", "")),
    }
