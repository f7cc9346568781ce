"""Gathers spans, rows and facts in the user's process and hands them to the run folder."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from unslow.facts.codec import encode
from unslow.facts.phase import Phase
from unslow.facts.schema import Fact, Place, Stack, Tally, Thinned
from unslow.record.engine.frames import UserCode
from unslow.runfolder.layout import Writer

clock = time.perf_counter_ns
PHASES = len(Phase)
_HOST = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "localhost")

# A kind of fact is written each time up to this many, then at counts that grow by one per cent: ten
# million facts make some 1 500 lines. Every line carries the running count, so totals stay exact.
_FACTS_IN_FULL = 400

_MOST_KEYS = 5000  # a program may make up names without end

_NOTHING = float("nan")
Gathered = tuple[
    list[int], int, float, float
]  # for a row: nanoseconds by phase, our own, elements, value
_ABSORBED = frozenset((Phase.RUN, Phase.SYNC, Phase.INPUT, Phase.HOOKS))


def _next_written(count: int) -> int:
    """The number of the next fact of a key that is written."""
    return count + 1 if count < _FACTS_IN_FULL else int(count * 1.01) + 1


def _nothing(*_: object) -> None:
    """Stands where no probe asked to be told."""


class Lane:
    """One thread: its open spans and what has gathered since its last row.

    An open span is a list `[phase, started, nanoseconds of its children]`.
    """

    __slots__ = (
        "busy",
        "called",
        "calls",
        "elements",
        "evaluated",
        "fit",
        "graded",
        "group",
        "last",
        "own",
        "phases",
        "ran",
        "stack",
        "steps",
        "streak",
        "thread",
        "tracing",
        "updating",
        "usual",
        "value",
        "within",
    )

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.stack: list[list[int]] = []
        self.phases = [0] * PHASES
        self.last = clock()
        self.own = 0  # nanoseconds of our own dear looks since the last row, kept out of the step
        self.calls = 0
        self.tracing = 0
        self.graded = False  # gradients may have been taken since a step ended: assigning to weights may be training
        self.updating = 0  # depth of update calls: only the outermost one ends a step
        self.fit: Any = None  # the library's own training loop that is under way, if any
        self.called: list[
            Any
        ] = []  # tf.functions being called, outermost first; those of a streak are not here
        self.steps = 0
        self.group = 1  # updates in one call: Keras's steps_per_execution
        self.elements = 0.0
        self.usual = 0.0  # the same where nobody looks, since all batches have as many
        self.value = _NOTHING
        self.ran = 0  # nanoseconds that TensorFlow ran inside `within`
        self.evaluated = 0  # nanoseconds in evaluate and predict
        self.streak: Any = None  # the update that is being repeated, if its calls are only noted
        self.within = -1  # the phase that everything inside counts for: EVAL while evaluate() runs
        self.busy = False  # a look of ours is under way: wrapped calls inside it are not the user's

    @property
    def functions(self) -> list[Any]:
        """All tf.functions that are being called, outermost first."""
        streak = self.streak  # another thread may end it
        calling = streak.calling if streak is not None else None
        return self.called if calling is None else [calling, *self.called]

    def gathered(self) -> Gathered:
        """What has gathered for the row that ends; the next begins."""
        row = self.phases, self.own, self.elements or self.usual, self.value
        self.phases = [0] * PHASES
        self.own = 0
        self.elements = 0.0
        self.value = _NOTHING
        return row


class _Lanes(threading.local):
    def __init__(self, lanes: list[Lane]) -> None:
        self.lane = Lane()
        lanes.append(self.lane)


class Recorder:
    """The one object that probes know. Nothing here may raise into the user's program."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.user = UserCode()
        self.lanes: list[Lane] = []
        self.local = _Lanes(self.lanes)
        self.started = clock()
        self.pid = os.getpid()
        self.writer = Writer(folder, f"{_HOST}-{self.pid}")
        self.probes: dict[str, str] = {}
        self.weights: set[int] = set()  # ids of variables that a gradient was taken for
        self.kept_weights: dict[int, Any] | None = (
            None  # those variables themselves, in a trial only
        )
        self.calls: Any = None  # the probe that is told of unusual calls of compiled functions
        self.full_trace: Any = (
            None  # told when runs of a session begin or cease to be asked for a full trace
        )
        self.watch_runs: Callable[[bool], object] = (
            bool  # whether what sessions run is looked at; not while it repeats
        )
        self.session_graph: Callable[[Lane, Any], object] = (
            _nothing  # told of the graph of a session that trains, once
        )
        self.resting: set[Callable[[], None]] = (
            set()
        )  # put wrappers back that are out as long as all goes on as before
        self.windows: list[Callable[[], None]] = []  # close a window of ours, and open none again
        self.looks: dict[str, int] = {}  # nanoseconds of dear looks by probe, in any thread
        self._pending: list[str] = []
        self._counts: dict[tuple[str, str], list[int]] = {}
        self._sources: set[str] = set()
        self.tallies: dict[tuple[str, int, int], list[Any]] = {}
        self._kept: list[Any] = []
        self._lock = threading.Lock()

    def header(self) -> None:
        """The first line of a process: who it is, and how its clock maps to the wall's."""
        self.line(
            "process",
            clock(),
            pid=os.getpid(),
            host=_HOST,
            argv=list(getattr(sys, "argv", [])),
            python=sys.version.split()[0],
            executable=sys.executable,
            wall_at=time.time_ns(),
            clock_at=clock(),
            cluster=os.environ.get("TF_CONFIG", ""),
            cwd=os.getcwd(),
        )

    def line(self, kind: str, at: int, /, **data: Any) -> None:
        """Write a fact whatever its number; for the few that must never be thinned."""
        try:
            text = json.dumps({"k": kind, "t": at, **data}, default=str)
        except (TypeError, ValueError) as problem:
            text = json.dumps({"k": "unwritten", "t": at, "kind": kind, "why": str(problem)})
        self._pending.append(text)

    def emit(self, fact: Fact, at: int = 0) -> None:
        """Write a fact; one that is `Thinned` is counted, and written unless there were very many.

        `at`: the clock when it happened, where that was not just now.
        """
        if isinstance(fact, Thinned):
            tally = self._counted(fact.kind, fact.key, int(fact.took))
            if tally[0] < tally[2]:
                return
            tally[2] = _next_written(tally[0])
            fact = fact.replace(n=tally[0], sum=tally[1])
        try:
            self._pending.append(encode(fact, at or clock()))
        except (TypeError, ValueError) as problem:
            self.lost(fact.probe, f"{type(fact).__name__} could not be written: {problem}")

    def count(self, kind: type[Thinned], key: str, took: int = 0) -> None:
        """Count a fact whose details nobody wants; see `wants`."""
        self._counted(kind.kind, key, took)

    def _counted(self, kind: str, key: str, took: int) -> list[int]:
        """The tally of a key, one fact later: how many, their nanoseconds, the next that is written."""
        tally = self._counts.get((kind, key))
        if tally is None:
            if len(self._counts) > _MOST_KEYS:
                key = ""
            tally = self._counts.setdefault((kind, key), [0, 0, 0])
        tally[0] += 1
        tally[1] += took
        return tally

    def fact(self, kind: str, key: str = "", took: int = 0, /, **data: Any) -> bool:
        """Count a fact and write it unless there were very many with this key; says whether it was written."""
        tally = self._counted(kind, key, took)
        if tally[0] < tally[2]:
            return False
        tally[2] = _next_written(tally[0])
        self.line(kind, clock(), n=tally[0], sum_ns=tally[1], key=key, took_ns=took, **data)
        return True

    def wants(self, kind: type[Thinned] | str, key: str = "") -> bool:
        """Whether the next fact of this key will be written: costly details are gathered only then."""
        name = kind if isinstance(kind, str) else kind.kind
        tally = self._counts.get((name, key))
        return tally is None or tally[0] + 1 >= tally[2]

    def stack(self, frame: FrameType | None, limit: int = 6) -> Stack:
        """The user's frames, innermost first; their files are kept with the run."""
        return tuple(Place(*place) for place in self.kept(self.user.stack(frame, limit)))

    def kept(self, places: list[tuple[str, int, str]]) -> list[tuple[str, int, str]]:
        for file, _, _ in places:
            self.keep_source(file)
        return places

    def keep_source(self, file: str) -> None:
        if file in self._sources or len(self._sources) > 500:
            return
        self._sources.add(file)
        import hashlib
        import linecache

        text = "".join(linecache.getlines(file))
        if not text or len(text) > 2_000_000:
            return
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]
        self.line("source", clock(), file=file, digest=digest)
        try:
            os.makedirs(os.path.join(self.folder, "sources"), exist_ok=True)
            with open(
                os.path.join(self.folder, "sources", f"{digest}.py"),
                "w",
                encoding="utf-8",
                newline="",
                errors="surrogatepass",
            ) as copy:
                copy.write(text)
        except OSError:
            pass

    def tally(
        self,
        kind: type[Tally] | str,
        frame: FrameType | None,
        took: int,
        amount: float = 0.0,
        /,
        **data: Any,
    ) -> None:
        """Add up something that happens at a line, however often; written at growing intervals.

        `data` holds the kind's own fields; those of the first call at a line are kept.
        """
        if frame is None:
            return
        kind = kind if isinstance(kind, str) else kind.kind
        key = (kind, id(frame.f_code), frame.f_lasti)
        entry = self.tallies.get(key)
        if entry is None:
            if len(self.tallies) > 2000:
                return
            self._kept.append(frame.f_code)  # its id must not be used again
            entry = self.tallies[key] = [0, 0, 0.0, kind, self.stack(frame), data, 0]
        entry[0] += 1
        entry[1] += took
        entry[2] += amount

    def tallied(self, kind: str, code: CodeType, last: int, count: int, took: int, _: int) -> None:
        """Add so many at once, at a line that is known."""
        entry = self.tallies.get((kind, id(code), last))
        if entry is not None:
            entry[0] += count
            entry[1] += took

    def write_tallies(self, steps: int) -> None:
        """What has changed since it was last written, as running totals."""
        for count, took, amount, kind, stack, data, written in list(self.tallies.values()):
            if count != written:
                self.line(
                    kind,
                    clock(),
                    count=count,
                    took_ns=took,
                    amount=amount,
                    stack=stack,
                    steps=steps,
                    **data,
                )
        for entry in list(self.tallies.values()):
            entry[6] = entry[0]

    def flush(self, wait: bool = True) -> None:
        """Append what has gathered; nobody but the last to do so need wait for another thread that is at it."""
        if not self._lock.acquire(wait):
            return
        try:
            # The list itself stays: another thread may be about to append to it.
            pending = self._pending[:]
            del self._pending[: len(pending)]
            if pending:
                data = "\n".join(pending) + "\n"
                self.writer.lines(data.encode("utf-8", "backslashreplace"))
        finally:
            self._lock.release()

    def open_span(self, lane: Lane, phase: int) -> list[int]:
        entry = [phase, clock(), 0]
        lane.stack.append(entry)
        return entry

    def close_span(self, lane: Lane, entry: list[int]) -> int:
        """End a span; its self time goes to its phase. Returns the whole of its nanoseconds."""
        stack = lane.stack
        while (
            stack and stack.pop() is not entry
        ):  # a span that was never closed ends with its parent
            pass
        took = clock() - entry[1]
        phase = entry[0]
        if lane.within >= 0 and phase in _ABSORBED:
            if phase == Phase.RUN:
                lane.ran += took - entry[2]
            phase = lane.within
        lane.phases[phase] += took - entry[2]
        lane.calls += 1
        if stack:
            stack[-1][2] += took
        return took

    def stir(self) -> None:
        """A trace begins, which probes at rest may have to see."""
        while self.resting:
            self.resting.pop()()

    def give_way(self) -> None:
        """The program uses TensorFlow's profiler, of which there can be one in a process: it is the program's."""
        for close in self.windows:
            close()

    def keep_out(self, lane: Lane, spent: int, name: str) -> None:
        """Take a look of a probe's out of the step that is under way, and out of the spans that are open around it."""
        for entry in lane.stack:
            entry[1] += spent
        lane.own += spent
        lane.calls += 1  # what is noted next is not just one more of a streak
        self.spent(name, spent)

    def spent(self, name: str, nanoseconds: int) -> None:
        """A dear look of this probe took so long, in any thread."""
        self.looks[name] = self.looks.get(name, 0) + nanoseconds

    def after_fork(self) -> None:
        """In a forked child: nothing of the parent's is written again."""
        self.pid = os.getpid()
        self.writer = Writer(self.folder, f"{_HOST}-{self.pid}")
        self._pending = []
        self._counts = {}
        self.tallies = {}
        self._sources = set()
        self._lock = threading.Lock()
        self.lanes[:] = [self.local.lane]
        self.local.lane.steps = 0
        self.header()

    def lost(self, name: str, why: str) -> None:
        """A probe that failed is out, and the report says so."""
        if not self.probes.get(name, "").startswith("lost"):
            self.probes[name] = f"lost: {why}"
            self.line("probe", clock(), name=name, state=self.probes[name])
