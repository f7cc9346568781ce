"""Turns weight updates into rows: what a thread gathered since its last update, and where that update stands."""

from __future__ import annotations

import operator
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

from unslow.phase import Phase
from unslow.record.frames import column_of
from unslow.record.recorder import PHASES, Lane, Recorder, clock
from unslow.record.streak import Streak
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

_OTHER, _RUN = int(Phase.OTHER), int(Phase.RUN)
_OWNERS_PER_PLACE = 32
_MOST_RECENT = 1000
_COST_EVERY = 63  # one row in 64 is timed, to know what rows cost
_ASKED_EACH_TIME = 256
_ASKED_AT_LEAST = 64
_NOTHING = float("nan")
_REPEATED = 12
_ALIKE = 8  # so many rows in a row of one site, and more are to be expected
_LEADER_GONE = 64  # so many updates elsewhere in a row, and the next loop has begun


_DEPTH = 4  # frames that tell one place from another
# What is asked of a frame each time, as deep as its stack goes: the frames further up, and the code of the third, are
# left out, since reading them costs a short step too much.
_PATHS = [
    operator.attrgetter("f_code", "f_lasti", "f_back"),
    operator.attrgetter("f_code", "f_lasti", "f_back.f_code", "f_back.f_lasti", "f_back.f_back"),
    operator.attrgetter("f_code", "f_lasti", "f_back.f_code", "f_back.f_lasti", "f_back.f_back.f_lasti"),
]

# When the row ended and began, site, group; nanoseconds by phase, our own looks, elements, value.
_Raw = tuple[int, int, int, int, list[int], int, float, float]

UPDATES = "_unslow_updates"  # an attribute of a tf.function and of its graph: it writes trainable weights


class Steps:
    """Knows the update sites and writes the rows."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.closed = 0  # rows so far
        self.listeners: list[Any] = []  # called as listener(lane, total) after a row, for dear looks
        self.counted: Any = None  # called as counted(lane) after every row, in a trial
        self.trains = [False]  # whether any weights were updated yet; a list, so that wrappers can hold on to it
        self.cost = 0  # nanoseconds that rows took, as far as they were timed
        self._streak: Streak | None = None
        self._next_site = 0
        self._sites: dict[tuple[Any, ...], int] = {}
        self._places: dict[tuple[Any, ...], set[int]] = {}
        self._kept: list[Any] = []  # code objects of sites: an id must not be used again
        self._buffer: list[_Raw] = []
        self._packed = 0
        self._ask_at = 0
        self._recent: dict[int, tuple[Any, ...]] = {}  # by owner: its fit, its way to ask a frame, the answer, the site
        self._writing = threading.Lock()
        self._slow = 0
        self._deferred = False
        self._rows: dict[int, list[Any]] = {}  # open merged rows by site
        self._place_of: dict[int, int] = {}  # site → number of its place, whoever updates there
        self._leader = [-1, -1]  # site and place of the update that leads
        self._missed = 0
        self._last_site = -1
        self._alike = 0  # rows in a row of one site
        self._broken = False
        self._seen: set[int] = set()
        self.led = 0  # steps so far: updates of the leader

    def after_fork(self) -> None:
        self.closed = 0
        if self._streak is not None:
            self._streak.lane.streak = None
            self._streak = None
        self._sites.clear()
        self._recent.clear()
        self._places.clear()
        self._buffer = []
        self._packed = self._ask_at = 0
        self._writing = threading.Lock()
        self._rows.clear()

    @property
    def total(self) -> int:
        """Updates so far."""
        return self.closed + (len(self._streak.noted) if self._streak is not None else 0)

    @property
    def under_way(self) -> int:
        """Steps so far, once it is clear that something is being repeated: what comes before only builds."""
        return self.total if self.trains[0] or self.total >= _REPEATED else 0

    @staticmethod
    def mark_updating() -> None:
        """The graph under construction, and those around it, write trainable weights."""
        ops = sys.modules.get("tensorflow.python.framework.ops")
        graph = ops.get_default_graph() if ops is not None else None
        while graph is not None and hasattr(graph, "outer_graph"):
            setattr(graph, UPDATES, True)
            graph = graph.outer_graph

    def ended(self, lane: Lane, kind: str, owner: object, name: str, frame: FrameType | None,
              trains: bool = True) -> None:  # fmt: skip
        """The weights were updated by `owner`, called from `frame`. Never raises."""
        if self._broken:
            return
        try:
            if trains and not self.trains[0]:
                self._training_begins()
            recent = self._recent.get(id(owner))
            site = -1
            if recent is not None and recent[0] is lane.fit:
                try:
                    if recent[1](frame) == recent[2]:
                        site = recent[3]
                except AttributeError:  # the stack is not as deep as the last time
                    site = -1
            if site < 0:
                site = self._site(lane, kind, owner, name, frame)
            self._close_row(lane, site)
        except Exception as problem:  # noqa: BLE001 - the fence of the step probe: the training goes on
            self._broken = True
            self.recorder.lost("steps", f"{type(problem).__name__}: {problem}")

    def repeated(self, lane: Lane, kind: str, owner: object, name: str, frame: FrameType | None) -> None:
        """TensorFlow ran for one of the user's lines. As long as nothing trains, such calls are taken for steps."""
        if not self.trains[0] and frame is not None and self.recorder.user.owns(frame.f_code):
            self.ended(lane, kind, owner, name, frame, trains=False)

    def _training_begins(self) -> None:
        """Count anew: what was repeated before was not the training."""
        self.trains[0] = True
        if self.total:
            self.closed = self.led = self._ask_at = 0
            self._leader, self._missed = [-1, -1], 0
            self._sites.clear()
            self._recent.clear()
            for lane in self.recorder.lanes:
                lane.steps = 0

    def _site(self, lane: Lane, kind: str, owner: object, name: str, frame: FrameType | None) -> int:
        places: list[Any] = [id(owner), kind, id(lane.fit)]
        walk = frame
        for _ in range(_DEPTH):
            if walk is None:
                break
            places.append(id(walk.f_code))
            places.append(walk.f_lasti)
            walk = walk.f_back
        key = tuple(places)
        number = self._sites.get(key)
        if number is None:
            number = self._new_site(lane, kind, owner, name, frame, key)
        if frame is not None and len(self._recent) < _MOST_RECENT:
            path = _PATHS[min((len(places) - 5) // 2, 2)]
            self._recent[id(owner)] = (lane.fit, path, path(frame), number)
        return number

    def _new_site(self, lane: Lane, kind: str, owner: object, name: str, frame: FrameType | None,
                  key: tuple[Any, ...]) -> int:  # fmt: skip
        place = key[1:]
        owners = self._places.setdefault(place, set())
        owners.add(id(owner))
        if len(owners) > _OWNERS_PER_PLACE:  # a new optimizer or function each time: one site for all of them
            key = (0, *place)
            if key in self._sites:
                return self._sites[key]
        number = self._sites[key] = self._next_site
        self._next_site = min(self._next_site + 1, 65_000)
        self._place_of[number] = hash(place)
        walk = frame
        for _ in range(_DEPTH):
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
            fit=fit, thread=lane.thread, trains=self.trains[0],
        )  # fmt: skip
        self.recorder.flush()  # rows say nothing without their site, and they may be all that a killed run leaves
        return number

    def _close_row(self, lane: Lane, site: int) -> None:
        """Close the row of this thread and start the next."""
        now = clock()
        if self._streak is not None:
            self.end_streak()
        if lane.stack:
            _settle(lane, now)
        self._buffer.append((now, lane.last, site, lane.group, *lane.gathered()))
        lane.last = now
        self._alike = self._alike + 1 if site == self._last_site else 0
        self._last_site = site
        self._count(lane, site, 1, now)
        if not self.closed & _COST_EVERY:
            self.cost += (clock() - now) * (_COST_EVERY + 1)

    def _count(self, lane: Lane, site: int, rows: int, now: int) -> None:
        """So many rows more, all of one site."""
        total = self.closed = self.closed + rows
        lane.steps += rows
        if site == self._leader[0]:
            self.led += rows * lane.group
            self._missed = 0
        else:
            self._lead(site, lane.group)
        if len(self._buffer) * _UNWRITTEN[total > _AT_FIRST] > total and not self._deferred:
            self._write(now)
        if total >= self._ask_at:
            self._ask(lane, total)
        if self.counted is not None:
            self.counted(lane)

    def begin_streak(self, lane: Lane, owner: object) -> Streak | None:
        """From here on calls of `owner` may be noted only; None where rows differ, or each is needed as it ends."""
        recent = self._recent.get(id(owner))
        if recent is None or self._alike < _ALIKE or self.closed < _ASKED_EACH_TIME or self.counted is not None:
            return None
        self._streak = lane.streak = Streak(lane, owner, *recent[1:])
        self._room(self._streak)
        return self._streak

    def _room(self, streak: Streak) -> None:
        """Not so many that a kill would lose much, nor past the row after which looks are due."""
        streak.left = max(1, min(self._ask_at - self.closed, self.closed >> 6, _ASKED_AT_LEAST))

    def settle(self, streak: Streak) -> None:
        """Make rows of the calls that were noted. Never raises."""
        try:
            began, lane, noted = clock(), streak.lane, streak.noted[:]
            del streak.noted[: len(noted)]  # the list itself stays: its thread may be about to append to it
            rows = len(noted)
            took = last = 0
            for start, now, *more in noted:
                row = more or ([0] * PHASES, 0, streak.elements, _NOTHING)
                last = now - start
                took += last
                row[0][_RUN] += last
                self._buffer.append((now, lane.last, streak.site, lane.group, *row))
                lane.last = now
            lane.calls += rows
            streak.calls += rows
            if rows:
                if streak.tell is not None:
                    streak.tell(rows, took, last)
                self._count(lane, streak.site, rows, began)
            self._room(streak)
            self.cost += clock() - began
        except Exception as problem:  # noqa: BLE001 - the fence of the step probe: the training goes on
            self._broken = True
            self.recorder.lost("steps", f"{type(problem).__name__}: {problem}")

    def end_streak(self) -> None:
        streak, self._streak = self._streak, None
        if streak is not None:
            streak.lane.streak = None
            self.settle(streak)

    def _ask(self, lane: Lane, total: int) -> None:
        """Dear looks wait for powers of two or for time: past the first steps they need not be asked each time."""
        self._ask_at = total + 1
        if total >= _ASKED_EACH_TIME:
            self._ask_at = min(total + min(total >> 6, _ASKED_AT_LEAST), 1 << total.bit_length())
        for listener in self.listeners:
            listener(lane, total)

    def ask_again(self) -> None:
        """Said by a listener that must be asked after the very next row: it has a window open."""
        self._ask_at = self.closed + 1
        if self._streak is not None:
            self._streak.left = 1

    def _lead(self, site: int, group: int) -> None:
        """An update elsewhere than at the leader: of several updates in an iteration the first one seen leads."""
        place = self._place_of.get(site, -1)
        fresh = place == self._leader[1] and site not in self._seen
        if fresh or self._leader[0] < 0 or self._missed >= _LEADER_GONE:
            self.led += group
            self._missed = 0
            self._leader = [site, place]
        else:
            self._missed += 1
        self._seen.add(site)

    def _pack(self, rows: list[_Raw]) -> Iterator[bytes]:
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
        row = self._rows.get(site)
        if row is None:
            row = self._rows[site] = [now, 0, wall, wall, 0, site, group, 0.0, value, *([0] * PHASES)]
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
            del self._rows[site]
            yield ROW.pack(*row)

    def _write(self, now: int, last: bool = False) -> None:
        if not self._writing.acquire(last, 1.0 if last else -1):  # the other thread is at it
            return
        try:
            # The list itself stays: the other thread may be about to append to it.
            rows = self._buffer[:]
            del self._buffer[: len(rows)]
            data = b"".join(self._pack(rows))
            if last:
                data += b"".join(ROW.pack(*row) for row in self._rows.values())
                self._rows.clear()
            if data:
                self.recorder.writer.rows(data)
        finally:
            self._writing.release()
        if clock() - now > _SLOW_WRITE:
            self._slow += 1
            self._deferred = self._slow >= _SLOW_WRITES

    def flush(self, last: bool = False) -> None:
        """Write what has gathered; `last` also writes merged rows that are not full yet."""
        if last:
            self.end_streak()
        self._write(clock(), last)


def _settle(lane: Lane, now: int) -> None:
    """Give open spans their share of the row that ends, and let them start anew."""
    inner = 0
    for entry in reversed(lane.stack):
        took = now - entry[1]
        lane.phases[entry[0]] += took - entry[2] - inner
        inner = took
        entry[1] = now
        entry[2] = 0
