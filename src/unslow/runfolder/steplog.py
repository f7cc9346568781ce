"""The rows of a `.steps` log as NumPy reads them; calls written as times alone become rows.

Nothing in a log is trusted: a row that contradicts itself is left out and counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unslow.model import Phase
from unslow.runfolder.layout import FIRST_PHASE, ROW, WORDS

# The fields of `layout.ROW`.
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

# No step takes ten years, and no clock has run for so long: numbers beyond it are damage, and sums
# of such numbers would overflow.
_MOST = 10 * 366 * 86_400 * 10**9
_APART = 366 * 86_400 * 10**9  # nanoseconds that a row may lie apart from the middle of all rows


class Parsed(NamedTuple):
    """Rows in the order in which they were written."""

    rows: np.ndarray  # an array of FIELDS
    size: int  # bytes that were read; what follows is not complete yet
    damaged: int  # rows that were left out


def rows_of(data: bytes) -> np.ndarray:
    """All rows, up to where the log is cut off."""
    return parse(data).rows


def parse(data: bytes) -> Parsed:
    """The same, with the number of those that were left out."""
    rows, size, damaged = taken(data)
    rest = np.frombuffer(data, dtype=FIELDS, offset=size, count=(len(data) - size) // ROW.size)
    if len(rest):
        calls, more = _valid_calls(rest[0], rest[1:].view("<i8"))
        rows, damaged = np.concatenate((rows, calls)), damaged + more
    near = _near(rows)
    return Parsed(rows[near], len(data), damaged + int(len(rows) - near.sum()))


def taken(data: bytes) -> Parsed:
    """All rows but those of calls that are not written to their end yet."""
    records = np.frombuffer(data, dtype=FIELDS, count=len(data) // ROW.size)
    parts, at, damaged = [records[:0]], 0, 0
    heads = (records["count"] == 0) & (records["total"] > 0)
    for head in np.flatnonzero(heads).tolist():
        if head < at:  # times that look like a head
            continue
        rows, bad = _valid_rows(records[at:head])
        parts.append(rows)
        damaged += bad
        at, end = head, head + 1 - (-2 * int(records["total"][head]) // WORDS)
        if end > len(records):
            return Parsed(np.concatenate(parts), at * ROW.size, damaged)
        rows, bad = _valid_calls(records[head], records[head + 1 : end].view("<i8"))
        parts.append(rows)
        damaged += bad
        at = end
    rows, bad = _valid_rows(records[at:])
    return Parsed(np.concatenate((*parts, rows)), len(records) * ROW.size, damaged + bad)


def _valid_rows(records: np.ndarray) -> tuple[np.ndarray, int]:
    """Rows that hold together, and how many do not.

    Records of zeros are neither: a network folder may show a file's new size before its bytes.
    """
    written = records[records["count"] > 0]
    total, count = written["total"], written["count"].astype(np.int64)
    bounded = np.ones(len(written), dtype=bool)
    for name in ("end", "total", "low", "high"):
        bounded &= (written[name] >= 0) & (written[name] <= _MOST)
    bounded &= (np.abs(written["phases"]) <= _MOST).all(axis=1)
    bounded &= np.isfinite(written["elements"]) & (written["elements"] >= 0)
    # What a row says in two ways must agree. Its phases sum to its time, and its mean step lies
    # between its shortest and its longest: a count of billions has no such mean.
    mean = total / np.maximum(count, 1)
    agrees = (written["low"] <= mean + 1) & (mean <= written["high"] + 1)
    agrees &= written["phases"].sum(axis=1) == total
    valid = bounded & agrees
    return written[valid], int(len(written) - valid.sum())


def _valid_calls(head: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, int]:
    """Calls, each as a row of its own: they ran, and between them was the user's Python.

    The times of a damaged call and of all that follow it are left out: nothing says where they are.
    """
    times = words[: 2 * int(head["total"])]
    times = times[: len(times) // 2 * 2].reshape(-1, 2)
    before = np.concatenate(([head["end"]], times[:-1, 1])) if len(times) else times[:, 0]
    ordered = (times[:, 0] >= before) & (times[:, 1] >= times[:, 0])
    bounded = (before >= 0) & (times >= 0).all(axis=1) & (times <= _MOST).all(axis=1)
    holds = ordered & bounded & bool(np.isfinite(head["elements"]) and head["elements"] >= 0)
    good = len(times) if holds.all() else int(np.argmin(holds))
    times, before = times[:good], before[:good]
    rows = np.zeros(good, dtype=FIELDS)
    walls, ran = times[:, 1] - before, times[:, 1] - times[:, 0]
    rows["end"] = times[:, 1]
    rows["count"] = 1
    for name in ("total", "low", "high"):
        rows[name] = walls
    for name in ("site", "group", "elements", "value"):
        rows[name] = head[name]
    rows["phases"][:, Phase.RUN] = ran
    rows["phases"][:, Phase.OTHER] = walls - ran
    return rows, len(holds) - good


def _near(rows: np.ndarray) -> np.ndarray:
    """Which rows lie where most do: a row a year apart has a damaged clock."""
    if not len(rows):
        return np.zeros(0, dtype=bool)
    near: np.ndarray = np.abs(rows["end"] - np.int64(np.median(rows["end"]))) <= _APART
    return near
