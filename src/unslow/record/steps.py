"""Turns weight updates into rows: what a thread gathered since its last update, and where that update stands."""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any

from unslow.model import Phase
from unslow.record.frames import column_of
from unslow.record.recorder import PHASES, Lane, Recorder, clock
from unslow.runfile import ROW

# The first rows hold one update each. Past FULL, every further HALF rows hold twice as many updates as
# the ones before: ten million updates make 210 000 rows, 30 MB.
FULL = 50_000
HALF = 20_000

# A row is written by the training thread itself when this much time has passed since the last write,
# so that `kill -9` loses at most this much. A write to a page cache takes 1–2 µs; where it takes longer
# (a stalled network disk) the watcher writes instead.
_WRITE_EVERY = 500_000
_SLOW_WRITE = 2_000_000
_SLOW_WRITES = 3

_OTHER = int(Phase.OTHER)
_OWNERS_PER_PLACE = 32
_ASKED_EACH_TIME = 256
_LEADER_GONE = 64  # so many updates elsewhere in a row, and the next loop has begun


UPDATES = "_unslow_updates"  # an attribute of a tf.function and of its graph: it writes trainable weights


class Steps:
    """Knows the update sites and writes the rows."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.total = 0
        self.listeners: list[Any] = []  # called as listener(lane, total) after a row, for dear looks
        self.counted: Any = None  # called as counted(lane) after every row, in a trial
        self._sites: dict[tuple[Any, ...], int] = {}
        self._places: dict[tuple[Any, ...], set[int]] = {}
        self._kept: list[Any] = []  # code objects of sites: an id must not be used again
        self._buffer: list[bytes] = []
        self._writing = threading.Lock()
        self._written = clock()
        self._slow = 0
        self._deferred = False
        self._rows: dict[int, list[Any]] = {}  # open merged rows by site
        self._place_of: dict[int, int] = {}  # site → number of its place, whoever updates there
        self._leader = [-1, -1]  # site and place of the update that leads
        self._missed = 0
        self._broken = False
        self._seen: set[int] = set()
        self.led = 0  # steps so far: updates of the leader

    def after_fork(self) -> None:
        self.total = 0
        self._sites.clear()
        self._places.clear()
        self._buffer = []
        self._writing = threading.Lock()
        self._rows.clear()

    @staticmethod
    def mark_updating() -> None:
        """The graph under construction, and those around it, write trainable weights."""
        ops = sys.modules.get("tensorflow.python.framework.ops")
        graph = ops.get_default_graph() if ops is not None else None
        while graph is not None and hasattr(graph, "outer_graph"):
            setattr(graph, UPDATES, True)
            graph = graph.outer_graph

    def ended(self, lane: Lane, kind: str, owner: object, name: str, frame: FrameType | None) -> None:
        """The weights were updated by `owner`, called from `frame`. Never raises."""
        if self._broken:
            return
        try:
            self._update(lane, self._site(lane, kind, owner, name, frame))
        except Exception as problem:  # noqa: BLE001 - the fence of the step probe: the training goes on
            self._broken = True
            self.recorder.lost("steps", f"{type(problem).__name__}: {problem}")

    def _site(self, lane: Lane, kind: str, owner: object, name: str, frame: FrameType | None) -> int:
        places: list[int] = [id(lane.fit)] if lane.fit is not None else []
        walk = frame
        for _ in range(4):
            if walk is None:
                break
            places.append(id(walk.f_code))
            places.append(walk.f_lasti)
            walk = walk.f_back
        place = (kind, *places)
        key = (id(owner), *place)
        number = self._sites.get(key)
        if number is None:
            number = self._new_site(lane, kind, owner, name, frame, place, key)
        return number

    def _new_site(self, lane: Lane, kind: str, owner: object, name: str, frame: FrameType | None,
                  place: tuple[Any, ...], key: tuple[Any, ...]) -> int:  # fmt: skip
        owners = self._places.setdefault(place, set())
        owners.add(id(owner))
        if len(owners) > _OWNERS_PER_PLACE:  # a new optimizer or function each time: one site for all of them
            key = (0, *place)
            if key in self._sites:
                return self._sites[key]
        number = self._sites[key] = min(len(self._sites), 65_000)
        self._place_of[number] = hash(place)
        walk = frame
        for _ in range(4):
            if walk is not None:
                self._kept.append(walk.f_code)
                walk = walk.f_back
        if lane.fit is not None:
            self._kept.append(lane.fit)
        user = self.recorder.user
        stack = self.recorder.stack(frame, 12)
        loop = None
        for depth, (found, held) in enumerate(user.frames(frame, 12)):
            lines = user.loop_around(found, column_of(held))
            if lines is not None:
                loop = [depth, *lines]
                break
        fit = None if lane.fit is None else lane.fit.get("place")
        self.recorder.line(
            "site", clock(), id=number, kind=kind, owner=len(owners), name=name, stack=stack, loop=loop,
            fit=fit, thread=lane.thread,
        )  # fmt: skip
        return number

    def _update(self, lane: Lane, site: int) -> None:
        """Close the row of this thread and start the next."""
        now = clock()
        phases = lane.phases
        if lane.stack:
            _settle(lane, now)
        wall = max(0, now - lane.last - lane.own)
        known = sum(phases)
        phases[_OTHER] += wall - known
        lane.last = now
        lane.own = 0
        self.total += 1
        lane.steps += 1
        self._lead(site, lane.group)
        if self.total <= FULL:
            row = ROW.pack(now, wall, wall, wall, 1, site, lane.group, lane.elements, lane.value, *phases)
            self._buffer.append(row)
        else:
            self._merge(site, now, wall, lane)
        lane.phases = [0] * PHASES
        lane.elements = 0.0
        lane.value = float("nan")
        if now - self._written > _WRITE_EVERY and not self._deferred:
            self._write(now)
        # Dear looks wait for powers of two or for time: past the first steps they need not be asked each time,
        # but always twice in a row, because a window of one step is closed at the next.
        if self.total < _ASKED_EACH_TIME or self.total & 7 <= 1:
            for listener in self.listeners:
                listener(lane, self.total)
        if self.counted is not None:
            self.counted(lane)

    def _lead(self, site: int, group: int = 1) -> None:
        """Count steps as they come: of several updates in an iteration the first one seen leads."""
        place = self._place_of.get(site, -1)
        fresh = place == self._leader[1] and site not in self._seen
        if site == self._leader[0] or fresh or self._leader[0] < 0 or self._missed >= _LEADER_GONE:
            self.led += group
            self._missed = 0
            if site != self._leader[0]:
                self._leader = [site, place]
        else:
            self._missed += 1
        self._seen.add(site)

    def _merge(self, site: int, now: int, wall: int, lane: Lane) -> None:
        width = 1 << (((self.total - FULL) // HALF + 2).bit_length() - 1)
        row = self._rows.get(site)
        if row is None:
            row = self._rows[site] = [now, 0, wall, wall, 0, site, lane.group, 0.0, lane.value, *([0] * PHASES)]
        row[0] = now
        row[1] += wall
        row[2] = min(row[2], wall)
        row[3] = max(row[3], wall)
        row[4] += 1
        row[7] += lane.elements
        row[8] = lane.value
        for index, value in enumerate(lane.phases):
            row[9 + index] += value
        if row[4] >= width:
            self._buffer.append(ROW.pack(*row))
            del self._rows[site]

    def _write(self, now: int, wait: float = 0.0) -> None:
        if not self._writing.acquire(wait > 0, wait or -1):  # the other thread is at it
            return
        try:
            # The list itself stays: the other thread may be about to append to it.
            rows = self._buffer[:]
            del self._buffer[: len(rows)]
            if rows:
                self.recorder.writer.rows(b"".join(rows))
        finally:
            self._writing.release()
        self._written = clock()
        if self._written - now > _SLOW_WRITE:
            self._slow += 1
            self._deferred = self._slow >= _SLOW_WRITES

    def flush(self, last: bool = False) -> None:
        """Write what has gathered; `last` also writes merged rows that are not full yet."""
        if last:
            for row in list(self._rows.values()):
                self._buffer.append(ROW.pack(*row))
            self._rows.clear()
        self._write(clock(), 1.0 if last else 0.0)


def _settle(lane: Lane, now: int) -> None:
    """Give open spans their share of the row that ends, and let them start anew."""
    inner = 0
    for entry in reversed(lane.stack):
        took = now - entry[1]
        lane.phases[entry[0]] += took - entry[2] - inner
        inner = took
        entry[1] = now
        entry[2] = 0
