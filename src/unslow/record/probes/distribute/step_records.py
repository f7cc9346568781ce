"""One record per step of a worker: what it did until its first collective, and in all.

The launch of a step's first collective is seen from Python without adding anything to a graph:
TensorFlow asks for the collective's key at every call of a compiled step (CollectiveKeys).
"""

from __future__ import annotations

import base64
import os
import time
from typing import TYPE_CHECKING, NamedTuple

from unslow.facts.phase import Phase
from unslow.facts.workers import SYNC, SYNC_FIELDS, SyncBlock, closes_at
from unslow.record.engine.lanes import PHASES, SPAN_BEGAN, SPAN_INNER, SPAN_PHASE, Lane, clock
from unslow.record.engine.procfs import read

if TYPE_CHECKING:
    from unslow.record.engine.recorder import Recorder
    from unslow.record.engine.steps import Steps

_SECOND = 1e9
# A block is written when it holds a 16th of all records, or after a second: a worker that is killed
# loses little of a short run, and a long one has blocks of a useful size.
_UNWRITTEN = 16
_RECORDS_IN_BLOCK = 128
_BLOCK_AGE = 1_000_000_000
_MOST_TASKS = 512  # threads whose counters are read
# Names of threads of gRPC and of TensorFlow's collectives; seen on TensorFlow 2.21. Where they have
# others, moving data counts as computing.
_NETWORK_THREADS = ("collective_ops", "event_engine", "grpc")

# Which field of a record each phase counts for.
_FIELD_OF = {
    Phase.INPUT: "input",
    Phase.TRACE: "build",
    Phase.BUILD: "build",
    Phase.RUN: "compute",
    Phase.SYNC: "compute",
    Phase.SAVE: "save",
    Phase.LOG: "save",
    Phase.EVAL: "evaluate",
    Phase.HOOKS: "evaluate",
    Phase.GC: "collector",
}
_NAMES = [name for name, _ in SYNC_FIELDS]
_SUMS = _NAMES[4:]  # after end, key, step and count
_AT = {name: place for place, name in enumerate(_SUMS)}
_PLACES = tuple(_AT[_FIELD_OF[Phase(n)]] for n in range(PHASES - 1))  # of all phases but OTHER
_WALL, _BEFORE, _INSIDE, _OUTSIDE = (_AT[name] for name in ("wall", "before", "inside", "outside"))
_PYTHON, _ELEMENTS, _COLLECTIVES = _AT["python"], _AT["elements"], _AT["collectives"]
_DELAY, _OURS = _AT["delay"], _AT["ours"]
_NETWORK, _TIMED = _AT["network"], _AT["timed"]


class StepRecords:
    """Gathers the steps of this worker; `launched` and `row` are called in every one."""

    def __init__(self, recorder: Recorder, steps: Steps) -> None:
        self._recorder = recorder
        self._steps = steps
        self._lane: Lane | None = None  # of the thread that trains
        self._led = steps.led
        self._ended = clock()  # the step before
        self._ended_cpu = time.process_time_ns()
        self._launched = 0  # clock at which the first collective of this step was launched
        self._launched_cpu = 0
        self._phases = [0] * PHASES  # of rows that ended in this step before the launch
        self._partial: list[int] = []  # of the thread at the launch
        self._own = 0  # inspections in this step
        self._ends = recorder.waited_for_ends  # so far
        self._elements = 0.0
        self._collectives = 0
        self._timed = 0  # nanoseconds in collectives that ran eagerly
        self._timed_collectives = 0
        self._key = -1
        self._threads = Threads()
        self._spent = Spent()  # since the last step
        self._sums = [0.0] * len(_SUMS)
        self._count = 0
        self._block: list[bytes] = []
        self._records = 0  # so far
        self._block_began = self._ended

    def launched(self, key: int) -> None:
        """A collective is about to be launched, on any thread."""
        self._collectives += 1
        self._key = key
        if not self._launched:
            self._launched = clock()
            self._launched_cpu = time.process_time_ns()
            lane = self._lane or self._recorder.local.lane
            self._partial = _so_far(lane, self._launched)

    def ran(self, collectives: int, took: int) -> None:
        """Some collectives ran eagerly, on any thread."""
        self._timed_collectives += collectives
        self._timed += took

    def row(self, lane: Lane) -> int:
        """A row was closed; the number of the step that ended with it, 0 if none did."""
        row = self._steps.last_row
        if row is None:
            return 0
        self._lane = lane
        now, phases, own, elements = row
        self._own += own
        self._elements = max(self._elements, elements)
        if not self._launched:
            for phase in range(PHASES - 1):
                self._phases[phase] += phases[phase]
        if self._steps.led == self._led:
            return 0
        self._led = self._steps.led
        self._end_step(now)
        return self._led

    def _end_step(self, now: int) -> None:
        cpu = time.process_time_ns()
        ends, self._ends = self._ends, self._recorder.waited_for_ends
        self._own += self._ends - ends
        wall = max(0, now - self._ended - self._own)
        launched, launched_cpu = self._launched or now, self._launched_cpu or cpu
        before = min(wall, max(0, launched - self._ended - self._own))
        sums, phases = self._sums, self._phases
        if self._launched:
            phases = [a + b for a, b in zip(phases, self._partial, strict=True)]
        known = 0
        for place, spent in zip(_PLACES, phases, strict=False):
            sums[place] += spent / _SECOND
            known += spent
        sums[_PYTHON] += max(0, before - known) / _SECOND
        sums[_WALL] += wall / _SECOND
        sums[_BEFORE] += before / _SECOND
        sums[_INSIDE] += (cpu - launched_cpu) / _SECOND
        sums[_OUTSIDE] += (launched_cpu - self._ended_cpu) / _SECOND
        sums[_ELEMENTS] += self._elements
        sums[_COLLECTIVES] += self._collectives
        sums[_OURS] += self._own / _SECOND
        if self._timed_collectives == self._collectives:
            sums[_TIMED] += self._timed / _SECOND
        threads, self._spent = self._spent, Spent()
        sums[_DELAY] += threads.delayed / _SECOND
        sums[_NETWORK] += threads.network / _SECOND
        self._count += 1
        if closes_at(self._led):
            self._close_record(now)
        self._begin_step(now, cpu)

    def _begin_step(self, now: int, cpu: int) -> None:
        self._ended, self._ended_cpu = now, cpu
        self._launched = self._launched_cpu = self._own = self._collectives = 0
        self._timed = self._timed_collectives = 0
        self._elements = 0.0
        self._phases = [0] * PHASES
        self._partial = []

    def _close_record(self, now: int) -> None:
        head = (now, self._key, self._led, self._count)
        self._block.append(SYNC.pack(*head, *self._sums))
        self._sums = [0.0] * len(_SUMS)
        self._count = 0
        self._records += 1
        enough = min(_RECORDS_IN_BLOCK, 1 + self._records // _UNWRITTEN)
        if len(self._block) >= enough or now - self._block_began > _BLOCK_AGE:
            self.write_block(now)

    def write_block(self, now: int) -> None:
        block, self._block = self._block, []
        self._block_began = now
        if block:
            data = base64.b64encode(b"".join(block)).decode("ascii")
            self._recorder.emit(SyncBlock(data=data, records=len(block)))

    def finish(self) -> None:
        """Write the rest; a record that is not full is written as it is."""
        if self._count:
            self._close_record(self._ended)
        self.write_block(clock())

    def read_threads(self) -> None:
        """On the watcher's thread: what the threads did since the last time."""
        more = self._threads.since_last()
        self._spent = Spent(self._spent.delayed + more.delayed, self._spent.network + more.network)


def _so_far(lane: Lane, now: int) -> list[int]:
    """What a thread gathered since its last row, its open spans included."""
    phases = lane.phases[:]
    inner = 0
    for span in reversed(lane.stack[:]):
        took = now - span[SPAN_BEGAN]
        phases[span[SPAN_PHASE]] += took - span[SPAN_INNER] - inner
        inner = took
    phases[PHASES - 1] = 0
    return phases


class Spent(NamedTuple):
    """What the threads of this process did; nanoseconds."""

    delayed: int = 0  # could run, and no processor was free
    network: int = 0  # ran only to move data between workers


class Threads:
    """Reads the scheduler's counters of all threads."""

    def __init__(self) -> None:
        self._moving: dict[str, bool] = {}  # by the thread's id: whether it only moves data
        self._last = self._read()

    def since_last(self) -> Spent:
        last, self._last = self._last, self._read()
        delayed, network = self._last.delayed - last.delayed, self._last.network - last.network
        return Spent(max(0, delayed), max(0, network))  # threads may have ended

    def _read(self) -> Spent:
        delayed = network = 0
        known, self._moving = self._moving, {}  # threads come and go
        for task in _tasks():
            fields = read(f"/proc/self/task/{task}/schedstat").split()
            if len(fields) < 2:
                continue
            delayed += int(fields[1])
            moving = known[task] if task in known else _moves_data(task)
            self._moving[task] = moving
            if moving:
                network += int(fields[0])
        return Spent(delayed, network)


def _moves_data(task: str) -> bool:
    return read(f"/proc/self/task/{task}/comm").startswith(_NETWORK_THREADS)


def _tasks() -> list[str]:
    try:
        return os.listdir("/proc/self/task")[:_MOST_TASKS]
    except OSError:
        return []
