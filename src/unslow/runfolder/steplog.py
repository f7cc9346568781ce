"""The rows of a `.steps` log as NumPy reads them; calls that were written as times alone are made into rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from unslow.model import Phase
from unslow.runfolder.layout import FIRST_PHASE, ROW, WORDS

# The fields of `runfile.ROW`.
FIELDS = np.dtype(
    [
        ("end", "<i8"),
        ("total", "<i8"),
        ("low", "<i8"),
        ("high", "<i8"),
        ("count", "<u4"),
        ("site", "<u2"),
        ("group", "<u2"),
        ("elements", "<f8"),
        ("value", "<f8"),
        ("phases", "<i8", (len(Phase),)),
    ]
)
assert FIELDS.itemsize == ROW.size and len(FIELDS.names or ()) == FIRST_PHASE + 1


def rows_of(data: bytes) -> Any:
    """All rows in the order in which they were written, up to where the log is cut off."""
    rows, size = taken(data)
    rest = np.frombuffer(data, dtype=FIELDS, offset=size, count=(len(data) - size) // ROW.size)
    return np.concatenate((rows, _rows(rest[0], rest[1:].view("<i8")))) if len(rest) else rows


def taken(data: bytes) -> tuple[Any, int]:
    """All rows but those of calls that are not written to their end yet, and how many bytes they took."""
    records = np.frombuffer(data, dtype=FIELDS, count=len(data) // ROW.size)
    parts, at = [], 0
    for head in np.flatnonzero((records["count"] == 0) & (records["total"] > 0)).tolist():
        if head < at:  # times that look like a head
            continue
        parts.append(_real(records[at:head]))
        at, end = head, head + 1 - (-2 * int(records["total"][head]) // WORDS)
        if end > len(records):
            return np.concatenate(parts), at * ROW.size
        parts.append(_rows(records[head], records[head + 1 : end].view("<i8")))
        at = end
    return np.concatenate((*parts, _real(records[at:]))), len(records) * ROW.size


def _real(records: Any) -> Any:
    """Without those that hold nothing: a network folder may show a file's new size before its bytes."""
    return records[records["count"] > 0]


def _rows(head: Any, words: Any) -> Any:
    """Calls, each as a row of its own: they ran, and between them was the user's Python."""
    times = words[: 2 * int(head["total"])]
    times = times[: len(times) // 2 * 2].reshape(-1, 2)
    rows = np.zeros(len(times), dtype=FIELDS)
    walls = np.diff(times[:, 1], prepend=head["end"])
    ran = times[:, 1] - times[:, 0]
    rows["end"] = times[:, 1]
    rows["count"] = 1
    for name in ("total", "low", "high"):
        rows[name] = walls
    for name in ("site", "group", "elements", "value"):
        rows[name] = head[name]
    rows["phases"][:, Phase.RUN] = ran
    rows["phases"][:, Phase.OTHER] = walls - ran
    return rows
