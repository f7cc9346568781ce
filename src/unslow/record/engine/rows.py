"""The rows of a process on their way to the run folder: packed many at a time, merged in long runs, written soon."""

from __future__ import annotations

import sys
import threading
from array import array
from collections.abc import Iterator
from operator import sub
from typing import Any

from unslow.facts.phase import Phase
from unslow.record.engine.recorder import PHASES, Recorder, clock
from unslow.runfolder.layout import ROW, WORDS

# The first rows hold one update each. Past FULL, every further HALF rows hold twice as many updates as
# the ones before: ten million updates make 210 000 rows, 30 MB.
FULL = 50_000
HALF = 20_000

# The training thread writes by itself when more than one row in this many is unwritten (at first, and later), so that
# `kill -9` takes only some hundredths of them, and when the last write is so many nanoseconds old; a write costs as
# much as ten rows. The watcher writes what waits for longer, and alone where a write is slow (a stalled network disk).
_UNWRITTEN = 100, 32
_AT_FIRST = 256
_OLD = 500_000_000
_SLOW_WRITE = 2_000_000
_SLOW_WRITES = 3

_RUN, _OTHER = int(Phase.RUN), int(Phase.OTHER)
_BEFORE, _BETWEEN = (0,) * _RUN, (0,) * (_OTHER - _RUN - 1)  # phases of a row that only ran
_NOTHING = float("nan")

# When the row ended and began, site, group; nanoseconds by phase, our own looks, elements, value.
Raw = tuple[int, int, int, int, list[int], int, float, float]
# Many that differ in their times only: when the first began, site, group, elements; when each call began and ended,
# in turn.
Alike = tuple[int, int, int, float, list[int]]


class Rows:
    """Holds rows until they are written; any thread may write them."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._slow = 0
        self._deferred = False
        self.written = 0  # when something last was
        self.clear()

    def clear(self) -> None:
        self._waiting: list[Raw | Alike] = []
        self._unwritten = 0
        self._packed = 0
        self._merged: dict[int, list[Any]] = {}  # open merged rows by site
        self._writing = threading.Lock()

    def append(self, row: Raw) -> None:
        self._waiting.append(row)
        self._unwritten += 1

    def alike(self, last: int, site: int, group: int, elements: float, calls: list[int]) -> None:
        """Rows that hold a call each and nothing else but Python between them."""
        self._waiting.append((last, site, group, elements, calls))
        self._unwritten += len(calls) >> 1

    def written_in_time(self, total: int, now: int) -> None:
        """Write if too many of all these rows are waiting, or for too long."""
        many = self._unwritten * _UNWRITTEN[total > _AT_FIRST] > total
        if (many or now - self.written > _OLD) and not self._deferred:
            self.write(now)

    def _pack(self, rows: list[Raw | Alike]) -> Iterator[bytes]:
        """Rows as bytes; many at a time cost a fraction of what one costs in the middle of a step."""
        for row in _joined(rows):
            if len(row) == 5:
                yield from self._pack_alike(*row)
                continue
            now, last, site, group, phases, own, elements, value = row
            wall = max(0, now - last - own)
            phases[_OTHER] += wall - sum(phases)
            self._packed += 1
            if self._packed <= FULL:
                yield ROW.pack(now, wall, wall, wall, 1, site, group, elements, value, *phases)
            else:
                yield from self._merge(site, now, wall, group, elements, value, phases)

    def _pack_alike(
        self, last: int, site: int, group: int, elements: float, calls: list[int]
    ) -> Iterator[bytes]:
        room = min(len(calls), 2 * max(0, FULL - self._packed))
        if room:
            yield _times(last, site, group, elements, calls[:room])
            last = calls[room - 1]
            self._packed += room >> 1
        while room < len(calls):
            width = self._width(1)
            whole = (len(calls) - room) // (2 * width) * width
            if whole and site not in self._merged and self._width(whole) == width:
                part = calls[room : room + 2 * whole]
                yield _wide(last, site, group, elements * width, part, width)
                last = part[-1]
                room += len(part)
                self._packed += whole
                continue
            row = self._open_row(site, calls[room + 1], group, calls[room + 1] - last)
            part = calls[room : room + 2 * max(1, width - row[4])]
            _add_alike(row, last, elements, part)
            last = part[-1]
            room += len(part)
            self._packed += len(part) >> 1
            yield from self._closed_row(site, row)

    def _width(self, more: int = 0) -> int:
        """Updates that a row holds by now."""
        return 1 << (((self._packed + more - FULL) // HALF + 2).bit_length() - 1)

    def _open_row(self, site: int, now: int, group: int, wall: int) -> list[Any]:
        row = self._merged.get(site)
        if row is None:
            row = self._merged[site] = [
                now,
                0,
                wall,
                wall,
                0,
                site,
                group,
                0.0,
                _NOTHING,
                *([0] * PHASES),
            ]
        return row

    def _closed_row(self, site: int, row: list[Any]) -> Iterator[bytes]:
        if row[4] >= self._width():
            del self._merged[site]
            yield ROW.pack(*row)

    def _merge(
        self,
        site: int,
        now: int,
        wall: int,
        group: int,
        elements: float,
        value: float,
        phases: list[int],
    ) -> Iterator[bytes]:
        row = self._open_row(site, now, group, wall)
        row[0] = now
        row[1] += wall
        row[2] = min(row[2], wall)
        row[3] = max(row[3], wall)
        row[4] += 1
        row[7] += elements
        row[8] = value
        for index, took in enumerate(phases):
            row[9 + index] += took
        yield from self._closed_row(site, row)

    def write(self, now: int, last: bool = False) -> None:
        """Append what waits, rows and facts; `last` also writes merged rows that are not full yet."""
        self.written = now
        if not self._writing.acquire(last, 1.0 if last else -1):  # the other thread is at it
            return
        try:
            # The list itself stays: the other thread may be about to append to it.
            rows = self._waiting[:]
            del self._waiting[: len(rows)]
            self._unwritten = 0
            data = b"".join(self._pack(rows))
            if last:
                data += b"".join(ROW.pack(*row) for row in self._merged.values())
                self._merged.clear()
            if data:
                self._recorder.writer.rows(data)
        finally:
            self._writing.release()
        self._recorder.flush(last)
        if clock() - now > _SLOW_WRITE:
            self._slow += 1
            self._deferred = self._slow >= _SLOW_WRITES


def _joined(rows: list[Raw | Alike]) -> list[Raw | Alike]:
    """The same, calls that follow each other as one."""
    joined: list[Raw | Alike] = []
    for row in rows:
        before = joined[-1] if joined else row
        if (
            len(row) == 5
            and len(before) == 5
            and row[1:4] == before[1:4]
            and row[0] == before[4][-1]
        ):
            before[4].extend(row[4])
        else:
            joined.append(row)
    return joined


def _times(last: int, site: int, group: int, elements: float, calls: list[int]) -> bytes:
    """Calls as their times alone: a ninth of what their rows would be, and as much less to write."""
    words = array("q", calls)
    words.extend([0] * (-len(calls) % WORDS))
    if sys.byteorder == "big":
        words.byteswap()
    head = ROW.pack(last, len(calls) >> 1, 0, 0, 0, site, group, elements, _NOTHING, *[0] * PHASES)
    return head + words.tobytes()


def _wide(last: int, site: int, group: int, elements: float, calls: list[int], width: int) -> bytes:
    """Calls as merged rows of so many each, all of which they fill: by calls of C that go over all of them."""
    ends = calls[1::2]
    walls, rans = list(map(sub, ends, [last, *ends])), list(map(sub, ends, calls[::2]))
    lows, highs = (map(pick, *(walls[at::width] for at in range(width))) for pick in (min, max))
    ran = map(sum, zip(*(rans[at::width] for at in range(width)), strict=True))
    rows = []
    for now, low, high, run in zip(ends[width - 1 :: width], lows, highs, ran, strict=True):
        wall = now - last
        last = now
        rows.append(
            ROW.pack(
                now,
                wall,
                low,
                high,
                width,
                site,
                group,
                elements,
                _NOTHING,
                *_BEFORE,
                run,
                *_BETWEEN,
                wall - run,
            )
        )
    return b"".join(rows)


def _add_alike(row: list[Any], last: int, elements: float, calls: list[int]) -> None:
    """Some more of the calls that a merged row holds."""
    ends = calls[1::2]
    walls = [now - before for now, before in zip(ends, [last, *ends], strict=False)]
    ran = sum(ends) - sum(calls[::2])
    row[0] = ends[-1]
    row[1] += ends[-1] - last
    row[2] = min(row[2], *walls)
    row[3] = max(row[3], *walls)
    row[4] += len(ends)
    row[7] += elements * len(ends)
    row[8] = _NOTHING
    row[9 + _RUN] += ran
    row[9 + _OTHER] += ends[-1] - last - ran
