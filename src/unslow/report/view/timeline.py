"""When each finding cost its time, on the same axis as steps and memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse.stats.robust import ratio
from unslow.model import Finding, Loop, Run, line_text
from unslow.report.view.line_times import Line, LineTime, at
from unslow.report.words import Row

if TYPE_CHECKING:
    from unslow.model import Floats

COLUMNS = 120  # of the axis: finer than a reader can tell apart on a wide screen
LEVELS = 4  # shades
LEAST_OF_COLUMN = 0.02  # of a column: a line that was on the stack for less did not run then
# Of a finding's seconds: where its own line was on the stack for less, it costs its time elsewhere
# in the loop (a graph grows at one line and slows another), and the loop says when (judgement).
AT_ITS_LINE = 0.5


def timeline_of(run: Run, findings: tuple[Finding, ...], times: Mapping[Line, LineTime]) -> Row:
    """Loops and findings as spans `[start, end, shade]` in seconds since the run began."""
    lanes = [_lane(run, number, finding, times) for number, finding in enumerate(findings)]
    return {
        "seconds": run.seconds,
        "loops": [
            {
                "line": str(loop.location),
                "process": loop.process,
                "spans": [[round(loop.start, 4), round(loop.stop, 4), LEVELS]],
            }
            for loop in run.loops
            if loop.stop > loop.start
        ],
        "findings": [lane for lane in lanes if lane["spans"]],
    }


def _lane(run: Run, number: int, finding: Finding, times: Mapping[Line, LineTime]) -> Row:
    seen = at(times, finding.location)
    loop = _loop_of(run, finding)
    spans, by = _shaded(seen.spans, run.seconds), "stack samples of its line"
    is_elsewhere = not spans or seen.inclusive < AT_ITS_LINE * finding.seconds
    if loop is not None and is_elsewhere:
        spans, by = [[round(loop.start, 4), round(loop.stop, 4), 2]], "its loop"
    return {
        "finding": number,
        "cause": finding.cause,
        "line": line_text(finding.location),
        "process": loop.process if loop else None,
        "by": by,
        "spans": spans,
    }


def _loop_of(run: Run, finding: Finding) -> Loop | None:
    """The longest loop that a finding's line belongs to: by the stack of its updates."""
    place = finding.location
    if place is None or finding.stretch:
        return None
    for loop in sorted(run.loops, key=lambda each: -each.total):
        if any(place.file == each.file for each in (loop.location, loop.update, *loop.stack)):
            return loop
    return None


def _shaded(spans: list[tuple[float, float, float]], whole: float) -> list[list[float]]:
    """Neighbouring columns of the same shade as one span."""
    if not spans or whole <= 0:
        return []
    width = whole / COLUMNS
    parts: Floats = np.sum([_in_columns(*span, width) for span in spans], axis=0) / width
    shaded: list[list[float]] = []
    for column, part in enumerate(parts.tolist()):
        if part < LEAST_OF_COLUMN:
            continue
        shade = min(LEVELS, 1 + int(part * LEVELS))
        start, end = round(column * width, 4), round((column + 1) * width, 4)
        if shaded and shaded[-1][1] == start and shaded[-1][2] == shade:
            shaded[-1][1] = end
        else:
            shaded.append([start, end, shade])
    return shaded


def _in_columns(start: float, end: float, seconds: float, width: float) -> Floats:
    """The seconds of a span in each of the columns that it covers."""
    edges = width * np.arange(COLUMNS + 1)
    common: Floats = np.diff(np.clip(edges, start, end))
    return common * ratio(seconds, end - start)
