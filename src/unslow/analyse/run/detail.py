"""A run that was recorded in detail at first, and at the lowest rate since: the detailed part is
judged.

Facts end where the detail ends. Seconds and steps that follow would dilute what they say.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unslow.analyse import wording as say
from unslow.facts.process import LowestRate
from unslow.runfolder.layout import Folder, ProcessLog
from unslow.runfolder.steplog import rows_of


class Detailed(NamedTuple):
    """The part in detail, and a sentence about the rest; empty where there is none."""

    folder: Folder
    rest: str


def in_detail(raw: Folder) -> Detailed:
    """The same folder up to where its processes were asked for the lowest rate."""
    logs, rest = [], ""
    for log in raw.logs:
        until = _until(log)
        if until is None:
            logs.append(log)
            continue
        rows = rows_of(log.rows)
        early = rows["end"] <= until
        logs.append(_cut(log, until, rows[early].tobytes()))
        rest = rest or _sentence(log, until, rows[early], rows[~early])
    return Detailed(Folder(raw.path, raw.header, logs), rest)


def _until(log: ProcessLog) -> int | None:
    kind = LowestRate.kind
    return next((int(line["t"]) for line in reversed(log.lines) if line["k"] == kind), None)


def _cut(log: ProcessLog, until: int, rows: bytes) -> ProcessLog:
    """How the process ended is kept, as if it had ended there."""
    lines = [line for line in log.lines if line["t"] <= until]
    later = [line for line in log.lines if line["t"] > until]
    lines += [{**line, "t": until} for line in later if line["k"] == "end"]
    cut = ProcessLog(log.name, rows, lines)
    cut.torn, cut.damaged, cut.left_out = log.torn, log.damaged, log.left_out
    return cut


def _sentence(log: ProcessLog, until: int, early: np.ndarray, late: np.ndarray) -> str:
    began = min((int(line["t"]) for line in log.lines), default=until)
    said = (
        f"recorded in detail for the first {say.time((until - began) / 1e9)} "
        f"({int(early['count'].sum()):,} steps), until the verdict was stable"
    )
    if not len(late):
        return said
    steps = int(late["count"].sum())
    pace = say.time(float(late["total"].sum()) / 1e9 / steps)
    return f"{said}; since then {steps:,} steps at the lowest rate, {pace} each"
