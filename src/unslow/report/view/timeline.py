"""When each finding cost its time, on the same axis as steps and memory."""

from __future__ import annotations

from collections.abc import Mapping

from unslow.model import Finding, Loop, Run
from unslow.report.view.line_times import Line, LineTime, at
from unslow.report.words import Row

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
    is_elsewhere = loop is not None and seen.inclusive < AT_ITS_LINE * finding.seconds
    spans = [] if is_elsewhere else _shaded(seen.spans, run.seconds)
    by_loop = not spans and loop is not None
    if by_loop and loop is not None:
        spans = [[round(loop.start, 4), round(loop.stop, 4), 2]]
    return {
        "finding": number,
        "cause": finding.cause,
        "line": str(finding.location or ""),
        "process": loop.process if loop else None,
        "by": "its loop" if by_loop else "stack samples of its line",
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
    filled = [0.0] * COLUMNS
    for start, end, seconds in spans:
        _fill(filled, (start, end), seconds, width)
    shaded: list[list[float]] = []
    for column, seconds in enumerate(filled):
        part = seconds / width
        if part < LEAST_OF_COLUMN:
            continue
        shade = min(LEVELS, 1 + int(part * LEVELS))
        start, end = round(column * width, 4), round((column + 1) * width, 4)
        if shaded and shaded[-1][1] == start and shaded[-1][2] == shade:
            shaded[-1][1] = end
        else:
            shaded.append([start, end, shade])
    return shaded


def _fill(filled: list[float], span: tuple[float, float], seconds: float, width: float) -> None:
    """Spread the seconds of a span over the columns that it covers."""
    start, end = span
    first = max(0, int(start / width))
    last = min(len(filled) - 1, int(end / width))
    for column in range(first, last + 1):
        common = min(end, (column + 1) * width) - max(start, column * width)
        if common > 0:
            filled[column] += seconds * common / (end - start)
