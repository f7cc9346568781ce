"""The user's source as it ran, line by line, with the time of each line and the findings at it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import groupby

from unslow.analyse.stats.robust import ratio
from unslow.model import Finding, Run
from unslow.planning import is_library
from unslow.report.view.line_times import Line, LineTime
from unslow.report.words import Row

FILES = 6  # shown, those with findings first, then by time
WHOLE = 200  # lines: a longer file is shown around the lines that matter
AROUND = 4  # lines shown before and after a line that matters in a longer file
LEAST_SECONDS = 0.005  # of the run: a line with less shows no time


def sources_of(
    run: Run, findings: tuple[Finding, ...], times: Mapping[Line, LineTime]
) -> list[Row]:
    """Files with a finding or a visible part of the time; nothing where no source was kept."""
    marks: dict[Line, list[int]] = defaultdict(list)
    for number, finding in enumerate(findings):
        if finding.location is not None:
            marks[finding.location.file, finding.location.line].append(number)
    least = LEAST_SECONDS * run.seconds
    visible = {line: time for line, time in times.items() if time.inclusive >= max(least, 1e-3)}
    files = {file for file, _ in (*marks, *visible) if file in run.sources}
    own = [file for file in files if not is_library(file)]
    own.sort(key=lambda file: (not _has_mark(file, marks), -_seconds(file, visible), file))
    return [_file(run, file, marks, visible) for file in own[:FILES]]


def _has_mark(file: str, marks: Mapping[Line, list[int]]) -> bool:
    return any(name == file for name, _ in marks)


def _seconds(file: str, times: Mapping[Line, LineTime]) -> float:
    return sum(time.innermost for (name, _), time in times.items() if name == file)


def _file(
    run: Run, file: str, marks: Mapping[Line, list[int]], times: Mapping[Line, LineTime]
) -> Row:
    lines = run.sources[file].splitlines()
    rows: list[Row] = []
    for number, code in enumerate(lines, 1):
        time = times.get((file, number))
        seconds = time.inclusive if time else 0.0
        rows.append(
            {
                "line": number,
                "code": code.expandtabs(4).rstrip(),
                "seconds": seconds,
                "share": min(1.0, ratio(seconds, run.seconds)),
                "findings": marks.get((file, number), []),
            }
        )
    return {"file": file, "lines": len(lines), "rows": _worth_showing(rows)}


def _worth_showing(rows: list[Row]) -> list[Row]:
    """Every row of a short file; of a longer one what matters, with the lines left out counted."""
    if len(rows) <= WHOLE:
        return rows
    near: set[int] = set()
    for index, row in enumerate(rows):
        if row["seconds"] or row["findings"]:
            near.update(range(index - AROUND, index + AROUND + 1))
    shown: list[Row] = []
    for is_near, group in groupby(enumerate(rows), key=lambda numbered: numbered[0] in near):
        found = [row for _, row in group]
        shown += found if is_near else [{"left_out": len(found)}]
    return shown
