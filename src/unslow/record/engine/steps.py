"""Turns weight updates into rows: what a thread gathered since its last update, and where that update stands."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from unslow.facts.phase import Phase
from unslow.record.engine.fast_path import Streak, place_of
from unslow.record.engine.recorder import PHASES, Gathered, Lane, Recorder, clock
from unslow.record.engine.rows import Rows
from unslow.record.engine.update_sites import Sites

_RUN = int(Phase.RUN)
_COST_EVERY = 63  # one row in 64 is timed, to know what rows cost
_ASKED_EACH_TIME = (
    64  # the first rows; later after every 16th part of them, or as often as this in nanoseconds
)
_ASKED_EVERY = 500_000_000
_SETTLED = 256  # rows after which calls may only be noted
_NOTHING = float("nan")
_REPEATED = 12
_ALIKE = 8  # so many rows in a row of one site, and more are to be expected
_LEADER_GONE = 64  # so many updates elsewhere in a row, and the next loop has begun

UPDATES = (
    "_unslow_updates"  # an attribute of a tf.function and of its graph: it writes trainable weights
)


class Steps:
    """Closes the rows, counts the steps, and asks those who look now and then."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.closed = 0  # rows so far
        self.listeners: list[
            Any
        ] = []  # called as listener(lane, total) after a row, for dear looks
        self.counted: Any = None  # called as counted(lane) after every row, in a trial
        self.trains = [
            False
        ]  # whether any weights were updated yet; a list, so that wrappers can hold on to it
        self.cost = 0  # nanoseconds that rows took, as far as they were timed
        self.streak: Streak | None = (
            None  # the update that is being repeated, where its calls are only noted
        )
        self._sites = Sites(recorder, self.trains)
        self._rows = Rows(recorder)
        self._ask_at = 0
        self._asked = (0, clock())  # after how many rows, and when
        self._leader = [-1, -1]  # site and place of the update that leads
        self._missed = 0
        self._last_site = -1
        self._alike = 0  # rows in a row of one site
        self._broken = False
        self._seen: set[int] = set()
        self.led = 0  # steps so far: updates of the leader

    def after_fork(self) -> None:
        self.closed = 0
        if self.streak is not None:
            self.streak.take()  # the parent's
            self.end_streak()
        self._sites.clear()
        self._rows.clear()
        self._ask_at = 0

    @property
    def total(self) -> int:
        """Updates so far."""
        streak = self.streak  # another thread may end it
        return self.closed + (len(streak.noted) >> 1 if streak is not None else 0)

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

    def ended(
        self,
        lane: Lane,
        kind: str,
        owner: object,
        name: str,
        frame: FrameType | None,
        trains: bool = True,
    ) -> None:
        """The weights were updated by `owner`, called from `frame`. Never raises."""
        if self._broken:
            return
        try:
            if trains and not self.trains[0]:
                self._training_begins()
            lane.graded = (
                lane.graded and kind == "assign"
            )  # an update by hand has an assignment for every weight
            self._close_row(lane, self._sites.of(lane, kind, owner, name, frame))
        except Exception as problem:  # noqa: BLE001 - the fence of the step probe: the training goes on
            self._broken = True
            self.recorder.lost("steps", f"{type(problem).__name__}: {problem}")

    def repeated(
        self, lane: Lane, kind: str, owner: object, name: str, frame: FrameType | None
    ) -> None:
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
            for lane in self.recorder.lanes:
                lane.steps = 0

    def _close_row(self, lane: Lane, site: int) -> None:
        """Close the row of this thread and start the next."""
        now = clock()
        if self.streak is not None:
            self.end_streak()
        if lane.stack:
            _settle(lane, now)
        self._rows.append((now, lane.last, site, lane.group, *lane.gathered()))
        lane.last = now
        self._alike = self._alike + 1 if site == self._last_site else 0
        self._last_site = site
        self._count(lane, site, 1, now)
        if (
            not self.closed & _COST_EVERY
        ):  # the looks that were due are counted by themselves, and kept out of the row
            self.cost += max(0, clock() - now - lane.own) * (_COST_EVERY + 1)

    def _count(self, lane: Lane, site: int, rows: int, now: int) -> None:
        """So many rows more, all of one site."""
        total = self.closed = self.closed + rows
        lane.steps += rows
        if site == self._leader[0]:
            self.led += rows * lane.group
            self._missed = 0
        else:
            self._lead(site, lane.group)
        self._rows.written_in_time(total, now)
        if total >= self._ask_at:
            self._ask(lane, total)
        if self.counted is not None:
            self.counted(lane)

    def begin_streak(self, lane: Lane, who: object, frame: FrameType) -> Streak | None:
        """After a step of `who` its calls from there may be noted only; None where rows differ, or each is needed."""
        if self._alike < _ALIKE or self.closed < _SETTLED or self.counted is not None:
            return None
        self.streak = lane.streak = Streak(lane, who, self._last_site, place_of(frame))
        self._room(self.streak)
        return self.streak

    def _room(self, streak: Streak) -> None:
        """Up to the row after which looks are due."""
        streak.left = max(1, self._ask_at - self.closed)

    def settle(self, streak: Streak) -> None:
        """Make rows of the calls that were noted. Never raises."""
        try:
            began, lane = clock(), streak.lane
            noted, extra = streak.take()
            rows = len(noted) >> 1
            if extra:
                self._settle_mixed(streak, noted, extra)
            elif rows:
                self._rows.alike(lane.last, streak.site, lane.group, streak.elements, noted)
                lane.last = noted[-1]
            lane.calls += rows
            streak.calls += rows
            if rows:
                if streak.tell is not None:
                    streak.tell(rows, sum(noted[1::2]) - sum(noted[::2]), noted[-1] - noted[-2])
                self._count(lane, streak.site, rows, began)
            self._room(streak)
            self.cost += clock() - began
        except Exception as problem:  # noqa: BLE001 - the fence of the step probe: the training goes on
            self._broken = True
            self.recorder.lost("steps", f"{type(problem).__name__}: {problem}")

    def _settle_mixed(self, streak: Streak, noted: list[int], extra: dict[int, Gathered]) -> None:
        lane = streak.lane
        for number, (start, now) in enumerate(zip(noted[::2], noted[1::2], strict=True)):
            row = extra.get(number) or ([0] * PHASES, 0, streak.elements, _NOTHING)
            row[0][_RUN] += now - start
            self._rows.append((now, lane.last, streak.site, lane.group, *row))
            lane.last = now

    def end_streak(self) -> None:
        streak, self.streak = self.streak, None
        if streak is not None:
            streak.lane.streak = None
            streak.stop()
            self.settle(streak)
            if streak.ended is not None:
                streak.ended()

    def _ask(self, lane: Lane, total: int) -> None:
        """Dear looks wait for powers of two or for time: past the first steps they need not be asked each time."""
        now = clock()
        rows, took = max(1, total - self._asked[0]), max(1, now - self._asked[1])
        self._asked = total, now
        self._ask_at = total + 1
        if total >= _ASKED_EACH_TIME:
            apart = max(1, min(total >> 4, _ASKED_EVERY * rows // took))
            self._ask_at = min(total + apart, 1 << total.bit_length())
        for listener in self.listeners:
            listener(lane, total)

    def ask_again(self) -> None:
        """Said by a listener that must be asked after the very next row: it has a window open."""
        self._ask_at = self.closed + 1

    def _lead(self, site: int, group: int) -> None:
        """An update elsewhere than at the leader: of several updates in an iteration the first one seen leads."""
        place = self._sites.place_of(site)
        fresh = place == self._leader[1] and site not in self._seen
        if fresh or self._leader[0] < 0 or self._missed >= _LEADER_GONE:
            self.led += group
            self._missed = 0
            self._leader = [site, place]
        else:
            self._missed += 1
        self._seen.add(site)

    @property
    def flushed(self) -> int:
        """When something was last written."""
        return self._rows.written

    def flush(self, last: bool = False) -> None:
        """Write what has gathered; `last` also writes merged rows that are not full yet."""
        streak = self.streak
        if last:
            self.end_streak()
        elif streak is not None:
            streak.stop()  # nothing was written for a while: the next call shall make rows of what is noted
        self._rows.write(clock(), last)


def _settle(lane: Lane, now: int) -> None:
    """Give open spans their share of the row that ends, and let them start anew."""
    inner = 0
    for entry in reversed(lane.stack):
        took = now - entry[1]
        lane.phases[entry[0]] += took - entry[2] - inner
        inner = took
        entry[1] = now
        entry[2] = 0
