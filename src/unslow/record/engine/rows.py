"""Rows on their way to the run folder: packed many at a time, merged in long runs."""

from __future__ import annotations

import sys
import threading
from array import array
from collections.abc import Iterator
from operator import sub
from typing import NamedTuple

from unslow.facts.phase import Phase
from unslow.record.engine.lanes import PHASES
from unslow.record.engine.limits import ALONE
from unslow.record.engine.recorder import Recorder
from unslow.runfolder.layout import ROW, WORDS

# The first rows hold one update each. Past these, every further HALF rows hold twice as many
# updates as the ones before; processes of large jobs write fewer (limits.py).
FULL = ALONE.rows_in_full
HALF = ALONE.rows_per_width

# At first the training thread writes by itself when more than one row in 100 is unwritten, so that
# even a short run that is killed keeps nearly all of them. Later only the watcher writes, each time
# it wakes: a disk that does not answer must not stop the training. Without a watcher the training
# thread goes on, when more than one row in 32 is unwritten or the last write is half a second old.
_UNWRITTEN_AT_FIRST, _UNWRITTEN = 100, 32
_AT_FIRST = 256
_OLD = 500_000_000
# Rows that may wait for a disk that does not answer, about 50 MB; then the oldest are let go.
_MOST_WAITING = 100_000

_RUN, _OTHER = int(Phase.RUN), int(Phase.OTHER)
_BEFORE, _BETWEEN = (0,) * _RUN, (0,) * (_OTHER - _RUN - 1)  # phases of a row that only ran
_NOTHING = float("nan")

# When the row ended and began, site, group; nanoseconds by phase, of our inspections; elements,
# value. A plain tuple: one is made in every step, and a named one takes 0.3 µs longer.
Raw = tuple[int, int, int, int, list[int], int, float, float]


class Calls(NamedTuple):
    """Many rows that hold a call each, and nothing else but Python between them."""

    last: int  # when the first row began
    site: int
    group: int
    elements: float
    times: list[int]  # when each call began and ended, in turn

    def follow(self, before: Calls) -> bool:
        """Whether these go on where others ended."""
        return self[1:4] == before[1:4] and self.last == before.times[-1]


class _MergedRow:
    """A row of many updates that is not full yet."""

    __slots__ = (
        "count",
        "elements",
        "end",
        "group",
        "high",
        "low",
        "phases",
        "site",
        "total",
        "value",
    )

    def __init__(self, site: int, group: int, wall: int) -> None:
        self.site, self.group = site, group
        self.low = self.high = wall
        self.end = self.total = self.count = 0
        self.elements, self.value = 0.0, _NOTHING
        self.phases = [0] * PHASES

    def add(self, end: int, walls: list[int], elements: float, value: float) -> None:
        """Some more updates, the last of which ended at `end`; their phases are added apart."""
        self.end, self.value = end, value
        self.total += sum(walls)
        self.low = min(self.low, *walls)
        self.high = max(self.high, *walls)
        self.count += len(walls)
        self.elements += elements

    def add_calls(self, last: int, elements: float, times: list[int]) -> None:
        ends = times[1::2]
        walls = list(map(sub, ends, [last, *ends]))
        ran = sum(ends) - sum(times[::2])
        self.add(ends[-1], walls, elements * len(ends), _NOTHING)
        self.phases[_RUN] += ran
        self.phases[_OTHER] += ends[-1] - last - ran

    def pack(self) -> bytes:
        return ROW.pack(
            self.end,
            self.total,
            self.low,
            self.high,
            self.count,
            self.site,
            self.group,
            self.elements,
            self.value,
            *self.phases,
        )


class Rows:
    """Holds rows until they are written; any thread may write them."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.written = 0  # when something last was
        self.clear()

    def clear(self) -> None:
        self._waiting: list[Raw | Calls] = []
        self._unwritten = 0
        self._packed = 0
        self._merged: dict[int, _MergedRow] = {}  # by site
        self._writing = threading.Lock()

    def append(self, row: Raw) -> None:
        self._waiting.append(row)
        self._unwritten += 1

    def add_calls(self, calls: Calls) -> None:
        self._waiting.append(calls)
        self._unwritten += len(calls.times) >> 1

    def written_in_time(self, total: int, now: int) -> None:
        """Write if too many of all these rows are waiting, or for too long."""
        if total > _AT_FIRST and self._recorder.watched:
            if self._unwritten > _MOST_WAITING:
                self._let_go()
            return
        share = _UNWRITTEN if total > _AT_FIRST else _UNWRITTEN_AT_FIRST
        many = self._unwritten * share > total
        if many or now - self.written > _OLD:
            self.write(now)

    def _let_go(self) -> None:
        self._waiting.clear()
        self._unwritten = 0
        self._recorder.lost("steps", "the run folder did not take them for too long")

    @property
    def wait(self) -> bool:
        """Whether there is something to write."""
        return bool(self._waiting)

    def _pack(self, rows: list[Raw | Calls]) -> Iterator[bytes]:
        """Rows as bytes: many at a time, at a fraction of the cost of one within a step."""
        for row in _joined(rows):
            if isinstance(row, Calls):
                yield from self._pack_calls(row)
                continue
            now, last, site, group, phases, own, elements, value = row
            wall = max(0, now - last - own)
            phases[_OTHER] += wall - sum(phases)
            self._packed += 1
            if self._packed <= self._recorder.limits.rows_in_full:
                yield ROW.pack(now, wall, wall, wall, 1, site, group, elements, value, *phases)
                continue
            merged = self._open_row(site, group, wall)
            merged.add(now, [wall], elements, value)
            merged.phases = [a + b for a, b in zip(merged.phases, phases, strict=True)]
            yield from self._closed_row(merged)

    def _pack_calls(self, calls: Calls) -> Iterator[bytes]:
        times = calls.times
        at = min(len(times), 2 * max(0, self._recorder.limits.rows_in_full - self._packed))
        if at:
            yield _times(calls._replace(times=times[:at]))
            self._packed += at >> 1
        while at < len(times):
            last = times[at - 1] if at else calls.last
            width = self._width(1)
            whole = (len(times) - at) // (2 * width) * width
            fills = whole and calls.site not in self._merged and self._width(whole) == width
            if fills:
                part = times[at : at + 2 * whole]
                yield _wide(calls._replace(last=last, times=part), width)
            else:
                row = self._open_row(calls.site, calls.group, times[at + 1] - last)
                part = times[at : at + 2 * max(1, width - row.count)]
                row.add_calls(last, calls.elements, part)
            at += len(part)
            self._packed += len(part) >> 1
            if not fills:
                yield from self._closed_row(row)

    def _width(self, more: int = 0) -> int:
        """Updates that a row holds at this point of the run."""
        past = self._packed + more - self._recorder.limits.rows_in_full
        return 1 << ((past // self._recorder.limits.rows_per_width + 2).bit_length() - 1)

    def _open_row(self, site: int, group: int, wall: int) -> _MergedRow:
        row = self._merged.get(site)
        if row is None:
            row = self._merged[site] = _MergedRow(site, group, wall)
        return row

    def _closed_row(self, row: _MergedRow) -> Iterator[bytes]:
        if row.count >= self._width():
            del self._merged[row.site]
            yield row.pack()

    def write(self, now: int, last: bool = False) -> None:
        """Append waiting facts and rows; `last` also writes merged rows that are not full."""
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
                data += b"".join(row.pack() for row in self._merged.values())
                self._merged.clear()
            self._recorder.flush(last)  # rows mean nothing without the fact of their site
            if data:
                self._recorder.writer.rows(data)
        finally:
            self._writing.release()


def _joined(rows: list[Raw | Calls]) -> list[Raw | Calls]:
    """The same, calls that follow each other as one."""
    joined: list[Raw | Calls] = []
    for row in rows:
        before = joined[-1] if joined else None
        if isinstance(row, Calls) and isinstance(before, Calls) and row.follow(before):
            before.times.extend(row.times)
        else:
            joined.append(row)
    return joined


def _times(calls: Calls) -> bytes:
    """Calls as their times alone: a ninth of the size of their rows."""
    last, site, group, elements, times = calls
    words = array("q", times)
    words.extend([0] * (-len(times) % WORDS))
    if sys.byteorder == "big":
        words.byteswap()
    head = ROW.pack(last, len(times) >> 1, 0, 0, 0, site, group, elements, _NOTHING, *[0] * PHASES)
    return head + words.tobytes()


def _wide(calls: Calls, width: int) -> bytes:
    """Calls as merged rows of `width` each, all of which they fill: C goes over all of them."""
    last, site, group, elements, times = calls
    ends = times[1::2]
    walls, rans = list(map(sub, ends, [last, *ends])), list(map(sub, ends, times[::2]))
    lows, highs = (map(pick, *(walls[at::width] for at in range(width))) for pick in (min, max))
    ran = map(sum, zip(*(rans[at::width] for at in range(width)), strict=True))
    rows = []
    for now, low, high, run in zip(ends[width - 1 :: width], lows, highs, ran, strict=True):
        wall = now - last
        last = now
        phases = (*_BEFORE, run, *_BETWEEN, wall - run)
        head = (now, wall, low, high, width, site, group, elements * width, _NOTHING)
        rows.append(ROW.pack(*head, *phases))
    return b"".join(rows)
