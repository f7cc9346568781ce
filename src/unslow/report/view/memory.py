"""Memory over the run by holder: the process, its allocator, and containers that grow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

import numpy as np

from unslow.facts.memory import Container, Containers
from unslow.model import Process, Run
from unslow.report.view.charts import bucket_starts, short
from unslow.report.view.machine import rss_of
from unslow.report.words import Row

POINTS = 1500
HOLDERS = 6
WORTH = 1e6  # bytes: a container that holds less is not drawn


def memory_charts(run: Run, shown: Collection[int] = frozenset()) -> list[Row]:
    """One chart per process, or per `shown` one, against the seconds since the run began."""
    charts = []
    for process in run.processes:
        time, rss = rss_of(process)
        if len(rss) < 2 or (shown and process.index not in shown):
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


def _heap(process: Process, starts: np.ndarray) -> list[float | None]:
    """Bytes allocated by the C library's allocator, where it can be queried."""
    rss, used = process.ticks.columns["rss"], process.ticks.columns.get("heap_used")
    if used is None or not np.isfinite(used).any():
        return []
    return short(used[np.isfinite(rss) & (rss > 0)][starts])


def holders_of(run: Run, process: Process) -> list[Row]:
    """The user's containers that were seen to grow, the largest first."""
    seen: dict[tuple[str, str, str], list[tuple[float, Container]]] = defaultdict(list)
    for inspection in run.facts(Containers, process.index):
        for container in inspection.found:
            key = (container.file, container.function, container.path)
            seen[key].append((inspection.time, container))
    large = [series for series in seen.values() if series[-1][1].bytes >= WORTH]
    large.sort(key=lambda series: -series[-1][1].bytes)
    return [_holder(series) for series in large[:HOLDERS]]


def _holder(series: list[tuple[float, Container]]) -> Row:
    last = series[-1][1]
    return {
        "path": last.path,
        "file": last.file,
        "function": "" if last.function == "<module>" else last.function,
        "x": [round(time, 4) for time, _ in series],
        "bytes": [container.bytes for _, container in series],
        "elements": last.length,
        "element": last.element,
    }
