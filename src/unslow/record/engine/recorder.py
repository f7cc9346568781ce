"""The recorder as probes know it: spans, facts, tallies and sources, and where they go."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from types import FrameType

from unslow.facts.process import ProbeState, ProcessStart
from unslow.facts.schema import Stack, stack_of
from unslow.record.engine import lanes
from unslow.record.engine.fact_log import FactLog
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.frames import UserCode
from unslow.record.engine.kept_sources import KeptSources
from unslow.record.engine.lanes import Lane, Lanes, clock
from unslow.record.engine.limits import ALONE
from unslow.record.engine.line_tallies import LineTallies
from unslow.record.engine.safe_inspection import module_file
from unslow.record.engine.signals import Signals
from unslow.record.engine.thread_stacks import Line
from unslow.runfolder.layout import Writer

__all__ = ["Lane", "Recorder", "clock"]  # what a probe needs

_HOST = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "localhost")


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:  # the program deleted it
        return ""


class Recorder:
    """The one object that probes know. Nothing here may raise into the user's program."""

    open_span = staticmethod(lanes.open_span)
    close_span = staticmethod(lanes.close_span)

    def __init__(self, folder: str, late: bool = False) -> None:
        self.folder = folder
        self.late = late  # the program was running already
        self.user = UserCode()
        self.lanes: list[Lane] = []
        # Called on each thread at its first wrapped call, by a recording that began late: what
        # the thread was in the middle of. Must not raise.
        self.joining: list[Callable[[Lane], None]] = []
        self.local = Lanes(self.lanes, self.joining)
        self.started = clock()
        self.pid = os.getpid()
        self.writer = Writer(folder, f"{_HOST}-{self.pid}")
        self.probes: dict[str, str] = {}
        self.signals = Signals(self._failed)
        self.limits = ALONE  # less in a large job
        self.watched = False  # the watcher runs, and writes
        self.is_trial = False  # a trial is timed as it is: no expensive inspections
        self.is_worker = False  # one of several processes that wait for each other
        self.kept_weights: dict[int, Foreign] = {}  # in a trial: variables and sessions by their id
        # The thread of a long inspection, and nanoseconds of garbage collections in it: these are
        # the program's. One that let go of an iterator waited 1 s for its threads.
        self.inspecting = 0
        self.collected = 0
        # Where a tf.data iterator was last let go, and nanoseconds that threads waited there.
        self.iterator_ends: deque[Line] = deque(maxlen=1)
        self.waited_for_ends = 0
        self.inspection_times: dict[str, int] = {}  # nanoseconds by probe, in any thread
        self._lock = threading.Lock()
        self.log = FactLog(self.lost)
        self._tallies = LineTallies(self.stack)
        self._sources = KeptSources(folder, self.log.emit, self._failed)
        # Bound here, since a method that only passes a call on would cost as much again.
        self.emit, self.wants, self.count = self.log.emit, self.log.wants, self.log.count
        self.tally, self.tallier = self._tallies.add, self._tallies.adder
        self.is_tallied = self._tallies.has
        self.keep_source = self._sources.keep
        self._modules = (0, 0)  # imported, and files kept, when the user's were last looked for
        self.signals.tick.subscribe("sources", self.keep_modules)

    def header(self) -> None:
        """The first line of a process: who it is, and how its clock maps to the wall's."""
        self.emit(
            ProcessStart(
                pid=os.getpid(),
                host=_HOST,
                argv=tuple(getattr(sys, "argv", ())),
                python=sys.version.split()[0],
                executable=sys.executable,
                wall_at=time.time_ns(),
                clock_at=clock(),
                cluster=os.environ.get("TF_CONFIG", ""),
                cwd=_cwd(),
            )
        )

    def stack(self, frame: FrameType | None, limit: int = 6) -> Stack:
        """The user's frames, innermost first; their files are kept with the run."""
        try:
            return self.kept(self.user.stack(frame, limit))
        except Exception as problem:  # noqa: BLE001 - called within the user's own calls
            self._failed("frames", problem)
            return ()

    def kept(self, places: Iterable[tuple[str, int, str]]) -> Stack:
        """Places as a fact has them; their files are kept with the run."""
        stack = stack_of(places)
        for place in stack:
            self.keep_source(place.file)
        return stack

    def keep_modules(self) -> None:
        """Keep the user's modules that were imported since the last time, as they are on disk."""
        seen = len(sys.modules), self._sources.count
        if seen != self._modules:
            self._modules = seen
            files = map(module_file, list(sys.modules.values()))
            self._sources.keep_beside(files, self.user.owns_file)

    def write_tallies(self, steps: int) -> None:
        """Write the running totals that have changed since they were last written."""
        for total in self._tallies.changed(steps):
            self.emit(total)

    def flush(self, wait: bool = True) -> None:
        """Append the lines that wait; without `wait`, not if another thread is writing."""
        if not self._lock.acquire(wait):
            return
        try:
            pending = self.log.take()
            self._sources.write()
            if pending:
                data = "\n".join(pending) + "\n"
                self.writer.lines(data.encode("utf-8", "backslashreplace"))
        finally:
            self._lock.release()

    def keep_out(self, lane: Lane, spent: int, name: str) -> None:
        """Take an inspection out of the step under way."""
        lane.postpone(spent)
        self.spent(name, spent)

    def spent(self, name: str, nanoseconds: int) -> None:
        """An inspection by this probe took this long, in any thread."""
        self.inspection_times[name] = self.inspection_times.get(name, 0) + nanoseconds

    def after_fork(self) -> None:
        """In a forked child: nothing of the parent's is written again."""
        self.pid = os.getpid()
        self.watched = False
        self.writer = Writer(self.folder, f"{_HOST}-{self.pid}")
        for part in (self.log, self._sources, self._tallies):
            part.clear()
        self._lock = threading.Lock()
        self.lanes[:] = [self.local.lane]
        self.local.lane.steps = 0
        self.header()

    def _failed(self, name: str, problem: Exception) -> None:
        self.lost(name, f"{type(problem).__name__}: {problem}")

    def lost(self, name: str, why: str) -> None:
        """A probe that failed is out, and the report says so."""
        if not self.probes.get(name, "").startswith("lost"):
            self.probes[name] = f"lost: {why}"
            self.emit(ProbeState(name=name, state=self.probes[name]))
