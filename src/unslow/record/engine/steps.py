"""Turns weight updates into rows: what a thread gathered since its last update, and its site."""

from __future__ import annotations

import sys
import time
from types import FrameType

from unslow.facts.phase import Phase
from unslow.record.engine.fast_path import FastPath, call_site
from unslow.record.engine.lanes import PHASES, Gathered, Lane, clock
from unslow.record.engine.recorder import Recorder
from unslow.record.engine.rows import Calls, Rows
from unslow.record.engine.update_sites import Sites, Update
from unslow.record.engine.weak_table import WeakTable

cpu = time.thread_time_ns

_RUN = int(Phase.RUN)
# One row in 64 is timed, to know what rows cost: not the 64th itself, after which inspections are
# due. A power of two.
_COST_EVERY = 64
_COST_AT = 32
# Inspections are due after each of the first rows; later after every 16th part of the rows so
# far, or every half second, whichever comes first.
_ROWS_ALL_INSPECTED = 64
_INSPECTED_EVERY = 500_000_000
_SETTLED = 256  # rows after which calls may take the fast path
_ROWS_UNINSPECTED = 4096  # between settlements of the fast path where no inspections are due
_NOTHING = float("nan")
_REPEATED = 12
_ALIKE = 8  # rows in succession at one site before more of them are expected


def _own_cost(began: int, worked: int, inspections: int) -> int:
    """Nanoseconds of this thread since a moment, without inspections, which are counted separately.

    By its processor time, unless inspections took most of it: one row in which the machine ran
    something else for 20 ms would count for 64 such rows.
    """
    return max(0, min(cpu() - worked, clock() - began - inspections))


class Steps:
    """Closes the rows, counts the steps, and triggers inspections."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.closed = 0  # rows so far
        self.trains = False  # whether any weights were updated yet
        self.cost = 0  # nanoseconds that rows took, as far as they were timed
        self.fast_path: FastPath | None = None
        self.led = 0  # steps so far: updates at the leader
        self.inspects = True  # whether inspections are triggered
        self._updating: WeakTable[bool] = WeakTable()  # graphs and functions that write weights
        self._sites = Sites(recorder)
        self._rows = Rows(recorder)
        self._ask_at = 0
        self._asked_rows = 0
        self._asked_time = clock()
        self._leading_site = -1
        self._leading_place = -1
        # Updates since the last one at the leader: by site, the most at one, and the most ever.
        self._elsewhere: dict[int, int] = {}
        self._missed = self._most_missed = 0
        self._last_site = -1
        self._alike = 0  # rows in succession at one site
        self._broken = False
        self._seen: set[int] = set()
        # For whoever subscribes to `row`: its end, phases, inspections and elements.
        self.last_row: tuple[int, list[int], int, float] | None = None

    def after_fork(self) -> None:
        self.closed = 0
        if self.fast_path is not None:
            self.fast_path.take()  # the parent's
            self.leave_fast_path()
        self._sites.clear()
        self._rows.clear()
        self._ask_at = 0

    @property
    def total(self) -> int:
        """Updates so far."""
        path = self.fast_path  # another thread may leave it
        return self.closed + (path.noted if path is not None else 0)

    @property
    def under_way(self) -> int:
        """Steps so far, once something is clearly being repeated: what comes before only builds."""
        return self.total if self.trains or self.total >= _REPEATED else 0

    def mark_updating(self) -> None:
        """The graph under construction, and those around it, write trainable weights."""
        ops = sys.modules.get("tensorflow.python.framework.ops")
        graph = ops.get_default_graph() if ops is not None else None
        while graph is not None and hasattr(graph, "outer_graph"):
            self.writes_weights(graph)
            graph = graph.outer_graph

    def writes_weights(self, owner: object) -> None:
        """Remember that a graph or a tf.function writes trainable weights."""
        self._updating.put(owner, True)

    def is_updating(self, owner: object) -> bool:
        """Whether a graph or a tf.function writes trainable weights."""
        return id(owner) in self._updating.by_id

    def ended(
        self, lane: Lane, kind: str, owner: object, name: str, frame: FrameType | None
    ) -> None:
        """The weights were updated by `owner`, called from `frame`. Never raises."""
        if self.recorder.signals.update:
            self.recorder.signals.update.send(lane, kind, owner, frame)
        # An update by hand makes an assignment for every weight.
        lane.graded = lane.graded and kind == "assign"
        self._end_row(lane, Update(kind, owner, name, trains=True), lane.lent or frame)

    def _end_row(self, lane: Lane, update: Update, frame: FrameType | None) -> None:
        if self._broken:
            return
        try:
            if update.trains and not self.trains:
                self._training_begins()
            self._close_row(lane, self._sites.of(lane, update, frame))
        except Exception as problem:  # noqa: BLE001 - the fence of the step probe
            self._broken = True
            self.recorder.lost("steps", f"{type(problem).__name__}: {problem}")

    def repeated(
        self, lane: Lane, kind: str, owner: object, name: str, frame: FrameType | None
    ) -> None:
        """TensorFlow ran for a line of the user's: a step, as long as nothing trains."""
        if not self.trains and frame is not None and self.recorder.user.owns(frame.f_code):
            self._end_row(lane, Update(kind, owner, name, trains=False), frame)

    def _training_begins(self) -> None:
        """Start counting again: what was repeated before was not the training."""
        self.trains = True
        if self.total:
            self.closed = self.led = self._ask_at = self._missed = self._most_missed = 0
            self._leading_site = self._leading_place = -1
            self._elsewhere.clear()
            self._sites.clear()
            for lane in self.recorder.lanes:
                lane.steps = 0

    def _close_row(self, lane: Lane, site: int) -> None:
        """Close the row of this thread and start the next."""
        now = clock()
        worked = cpu() if self.closed & (_COST_EVERY - 1) == _COST_AT else 0
        if self.fast_path is not None:
            self.leave_fast_path()
        if lane.unsettled is not None:
            self._settle_rest(lane)
        if lane.stack:
            lane.split_spans(now)
        row = lane.gathered()
        self._rows.append((now, lane.last, site, lane.group, *row))
        self.last_row = (now, *row[:3])
        lane.last = now
        self._alike = self._alike + 1 if site == self._last_site else 0
        self._last_site = site
        self._count(lane, site, 1, now)
        if worked:
            self.cost += _own_cost(now, worked, lane.own) * _COST_EVERY

    def _count(self, lane: Lane, site: int, rows: int, now: int) -> None:
        """Count more rows, all of one site."""
        total = self.closed = self.closed + rows
        lane.steps += rows
        if site == self._leading_site:
            self.led += rows * lane.group
            if self._missed:
                self._most_missed = max(self._most_missed, self._missed)
                self._missed = 0
                self._elsewhere.clear()
        else:
            self._lead(site, lane.group)
        self._rows.written_in_time(total, now)
        if total >= self._ask_at:
            self._ask(lane, total)
        if self.recorder.signals.row:
            self.recorder.signals.row.send(lane)

    def enter_fast_path(self, lane: Lane, owner: object, frame: FrameType) -> FastPath | None:
        """After a step of `owner`: its next calls from there need only be timed.

        None where rows differ, or where each is needed.
        """
        if self._alike < _ALIKE or self.closed < _SETTLED or self.recorder.signals.row:
            return None
        path = FastPath(lane, owner, self._last_site, call_site(frame))
        while self.fast_path is not None:  # of another thread, since the row of this one
            self.leave_fast_path()
        self.fast_path = lane.fast_path = path
        self._make_room(path)
        return path

    def _make_room(self, path: FastPath) -> None:
        """Up to the row after which inspections are due."""
        path.left = max(1, self._ask_at - self.closed)

    def settle(self, path: FastPath) -> None:
        """Make rows of the calls that were noted. Never raises."""
        try:
            began, worked, own = clock(), cpu(), path.lane.own
            self._add_rows(path, began)
            self._make_room(path)
            self.cost += _own_cost(began, worked, path.lane.own - own)
        except Exception as problem:  # noqa: BLE001 - the fence of the step probe
            self._broken = True
            self.recorder.lost("steps", f"{type(problem).__name__}: {problem}")

    def _add_rows(self, path: FastPath, now: int) -> None:
        lane = path.lane
        times, extra = path.take()
        rows = len(times) >> 1
        if not rows:
            return
        if extra:
            self._add_mixed(path, times, extra)
        else:
            calls = Calls(lane.last, path.number, lane.group, path.elements, times)
            self._rows.add_calls(calls)
            lane.last = times[-1]
        lane.calls += rows
        path.calls += rows
        if path.counted is not None:
            path.counted(rows, sum(times[1::2]) - sum(times[::2]), times[-1] - times[-2])
        self._count(lane, path.number, rows, now)

    def _add_mixed(self, path: FastPath, times: list[int], extra: dict[int, Gathered]) -> None:
        lane = path.lane
        for number, (start, now) in enumerate(zip(times[::2], times[1::2], strict=True)):
            row = extra.get(number) or ([0] * PHASES, 0, path.elements, _NOTHING)
            row[0][_RUN] += now - start
            self._rows.append((now, lane.last, path.number, lane.group, *row))
            lane.last = now

    def leave_fast_path(self) -> None:
        path, self.fast_path = self.fast_path, None
        if path is not None:
            path.lane.fast_path = None
            path.stop()
            self.settle(path)
            if path.calling is not None:
                path.lane.unsettled = path
            if path.after is not None:
                path.after()

    def _settle_rest(self, lane: Lane) -> None:
        path, lane.unsettled = lane.unsettled, None
        if path is not None:
            self.settle(path)

    def _ask(self, lane: Lane, total: int) -> None:
        """Inspections are due at powers of two or after a time: not after every row."""
        if not self.inspects:
            self._ask_at = total + _ROWS_UNINSPECTED
            return
        now = clock()
        rows, took = max(1, total - self._asked_rows), max(1, now - self._asked_time)
        self._asked_rows, self._asked_time = total, now
        self._ask_at = total + 1
        if total >= _ROWS_ALL_INSPECTED:
            apart = max(1, min(total >> 4, _INSPECTED_EVERY * rows // took))
            self._ask_at = min(total + apart, 1 << total.bit_length())
        self.recorder.signals.step.send(lane, total)

    def ask_again(self) -> None:
        """Send `step` after the very next row: an inspection is under way."""
        self._ask_at = self.closed + 1

    def _lead(self, site: int, group: int) -> None:
        """An update elsewhere: of several updates in an iteration the first one seen leads.

        Once another site was updated far more often than between any two of the leader's updates,
        the next loop has begun. Many sites with an update each, as of a step by hand that assigns
        every variable, say nothing of it.
        """
        place = self._sites.place_of(site)
        replaces = place == self._leading_place and site not in self._seen
        times = self._elsewhere.get(site, 0) + 1
        is_gone = times > max(_ALIKE, 2 * self._most_missed)
        if replaces or self._leading_site < 0 or is_gone:
            self.led += group
            self._missed = self._most_missed = 0
            self._elsewhere.clear()
            self._leading_site, self._leading_place = site, place
        else:
            self._elsewhere[site] = times
            self._missed = max(self._missed, times)
        self._seen.add(site)

    @property
    def flushed(self) -> int:
        """When something was last written."""
        return self._rows.written

    def write_waiting(self) -> None:
        """Write rows that wait, and facts with them."""
        if self._rows.wait:
            self._rows.write(clock())

    def flush(self, last: bool = False) -> None:
        """Write what has gathered; `last` also writes merged rows that are not full yet."""
        path = self.fast_path
        if last:
            self.leave_fast_path()
            for lane in self.recorder.lanes:
                self._settle_rest(lane)
        elif path is not None:
            path.stop()  # nothing was written for a while: the next call makes rows of the times
        self._rows.write(clock(), last)
