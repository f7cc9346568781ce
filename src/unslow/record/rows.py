"""The rows of a process on their way to the run folder: packed many at a time, merged in long runs, written soon."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from unslow.phase import Phase
from unslow.record.recorder import PHASES, Recorder, clock
from unslow.runfile import ROW

# The first rows hold one update each. Past FULL, every further HALF rows hold twice as many updates as
# the ones before: ten million updates make 210 000 rows, 30 MB.
FULL = 50_000
HALF = 20_000

# The training thread writes by itself when more than one row in this many is unwritten (at first, and later), so that
# `kill -9` takes only about a hundredth of them; a write costs as much as ten rows. The watcher writes too, ten times
# a second, and alone where a write is slow (a stalled network disk).
_UNWRITTEN = 100, 32
_AT_FIRST = 256
_SLOW_WRITE = 2_000_000
_SLOW_WRITES = 3

_OTHER = int(Phase.OTHER)

# When the row ended and began, site, group; nanoseconds by phase, our own looks, elements, value.
Raw = tuple[int, int, int, int, list[int], int, float, float]


class Rows:
    """Holds rows until they are written; any thread may write them."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._slow = 0
        self._deferred = False
        self.clear()

    def clear(self) -> None:
        self._waiting: list[Raw] = []
        self.append = self._waiting.append
        self._packed = 0
        self._merged: dict[int, list[Any]] = {}  # open merged rows by site
        self._writing = threading.Lock()

    def written_in_time(self, total: int, now: int) -> None:
        """Write if too many of all these rows are waiting."""
        if len(self._waiting) * _UNWRITTEN[total > _AT_FIRST] > total and not self._deferred:
            self.write(now)

    def _pack(self, rows: list[Raw]) -> Iterator[bytes]:
        """Rows as bytes; many at a time cost a fraction of what one costs in the middle of a step."""
        for now, last, site, group, phases, own, elements, value in rows:
            wall = max(0, now - last - own)
            phases[_OTHER] += wall - sum(phases)
            self._packed += 1
            if self._packed <= FULL:
                yield ROW.pack(now, wall, wall, wall, 1, site, group, elements, value, *phases)
            else:
                yield from self._merge(site, now, wall, group, elements, value, phases)

    def _merge(self, site: int, now: int, wall: int, group: int, elements: float, value: float,
               phases: list[int]) -> Iterator[bytes]:  # fmt: skip
        width = 1 << (((self._packed - FULL) // HALF + 2).bit_length() - 1)
        row = self._merged.get(site)
        if row is None:
            row = self._merged[site] = [now, 0, wall, wall, 0, site, group, 0.0, value, *([0] * PHASES)]
        row[0] = now
        row[1] += wall
        row[2] = min(row[2], wall)
        row[3] = max(row[3], wall)
        row[4] += 1
        row[7] += elements
        row[8] = value
        for index, took in enumerate(phases):
            row[9 + index] += took
        if row[4] >= width:
            del self._merged[site]
            yield ROW.pack(*row)

    def write(self, now: int, last: bool = False) -> None:
        """Append what waits; `last` also writes merged rows that are not full yet."""
        if not self._writing.acquire(last, 1.0 if last else -1):  # the other thread is at it
            return
        try:
            # The list itself stays: the other thread may be about to append to it.
            rows = self._waiting[:]
            del self._waiting[: len(rows)]
            data = b"".join(self._pack(rows))
            if last:
                data += b"".join(ROW.pack(*row) for row in self._merged.values())
                self._merged.clear()
            if data:
                self._recorder.writer.rows(data)
        finally:
            self._writing.release()
        if clock() - now > _SLOW_WRITE:
            self._slow += 1
            self._deferred = self._slow >= _SLOW_WRITES
