"""Makes fewer rows of many: neighbors of one place become one row, the oldest first."""

from __future__ import annotations

import numpy as np


def folded_to(rows: np.ndarray, most: int, latest: int = 0) -> np.ndarray:
    """At most about `most` rows; the last `latest` of them are never merged."""
    while len(rows) > most:
        fewer = _folded(rows, latest)
        if len(fewer) == len(rows):
            break
        rows = fewer
    return rows


def _folded(rows: np.ndarray, latest: int) -> np.ndarray:
    """Pairs of neighbors of one site as one row; the first of a site, which traces, stays alone."""
    first = np.zeros(len(rows), dtype=bool)
    first[np.unique(rows["site"], return_index=True)[1]] = True
    old = ~first
    if latest:
        old[-latest:] = False
    pairs = _pairs(rows[old])
    kept = np.concatenate((pairs, rows[~old]))
    return kept[np.argsort(kept["end"], kind="stable")]


def _pairs(rows: np.ndarray) -> np.ndarray:
    rows = rows[np.argsort(rows["site"], kind="stable")]
    if not len(rows):
        return rows
    begins = np.flatnonzero(np.diff(rows["site"].astype(int), prepend=-1))
    within = np.arange(len(rows)) - np.repeat(begins, np.diff(np.append(begins, len(rows))))
    starts = np.flatnonzero(within % 2 == 0)
    last = np.append(starts[1:], len(rows)) - 1
    merged: np.ndarray = rows[last].copy()
    for name in ("total", "count", "elements", "phases"):
        merged[name] = np.add.reduceat(rows[name], starts, axis=0)
    merged["low"] = np.minimum.reduceat(rows["low"], starts)
    merged["high"] = np.maximum.reduceat(rows["high"], starts)
    return merged
