"""Gathers spans and facts in the user's process and writes them to the run folder."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import TYPE_CHECKING

from unslow.facts.codec import encode
from unslow.facts.phase import Phase
from unslow.facts.process import ProbeState, ProcessStart, SourceKept, Unwritten
from unslow.facts.schema import Fact, Place, Stack, Tally, Thinned
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.frames import UserCode
from unslow.record.engine.limits import ALONE
from unslow.record.engine.signals import Signals
from unslow.runfolder.layout import Writer

if TYPE_CHECKING:
    from unslow.record.engine.fast_path import FastPath

clock = time.perf_counter_ns
PHASES = len(Phase)
_HOST = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "localhost")

# A kind of fact is written each time up to this many, then at counts that grow by one per cent: ten
# million facts make about 1 500 lines. Every line carries the running count: totals stay exact.
_FACTS_IN_FULL = 400

_MOST_KEYS = 5000  # a program may make up names without end
_MOST_TALLIES = 2000
_MOST_SOURCES = 500
_MOST_SOURCE_CHARACTERS = 2_000_000

# An open span is a list: opening and closing one as a slotted object takes 690 ns, as a list 490 ns
# (Python 3.11, a 2 GHz core), and a short step opens several.
Span = list[int]
SPAN_PHASE, SPAN_BEGAN, SPAN_INNER = (
    0,
    1,
    2,
)  # its phase, when it began, nanoseconds of the spans inside it

_NOTHING = float("nan")
# For a row: nanoseconds by phase, of our own inspections, elements in the batch, the last value.
Gathered = tuple[list[int], int, float, float]
_ABSORBED = frozenset((Phase.RUN, Phase.SYNC, Phase.INPUT, Phase.HOOKS))


class Lane:
    """One thread: its open spans and what it gathered since its last row."""

    __slots__ = (
        "busy",
        "called",
        "calls",
        "elements",
        "evaluated",
        "fast_path",
        "fit",
        "graded",
        "group",
        "last",
        "lent",
        "own",
        "phases",
        "ran",
        "stack",
        "steps",
        "thread",
        "tracing",
        "updating",
        "usual",
        "value",
        "within",
    )

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.stack: list[Span] = []
        self.phases = [0] * PHASES
        self.last = clock()
        self.own = 0  # nanoseconds of our inspections since the last row, kept out of the step
        self.calls = 0
        self.tracing = 0  # depth of traces
        # Gradients may have been taken since the last step: assigning to weights may be training.
        self.graded = False
        self.updating = 0  # depth of update calls: only the outermost one ends a step
        # Where the thread waits, while a replica's thread works on its behalf.
        self.lent: FrameType | None = None
        self.fit: Foreign = None  # the library's own training loop that is under way, if any
        # tf.functions being called, outermost first, without the one on the fast path.
        self.called: list[Foreign] = []
        self.steps = 0
        self.group = 1  # updates in one call: Keras's steps_per_execution
        self.elements = 0.0
        self.usual = 0.0  # elements of every batch, while nobody inspects them
        self.value = _NOTHING
        self.ran = 0  # nanoseconds that TensorFlow ran inside `within`
        self.evaluated = 0  # nanoseconds in evaluate and predict
        self.fast_path: FastPath | None = None
        self.within = -1  # the phase that everything inside counts for: EVAL while evaluate() runs
        self.busy = False  # an inspection of ours: wrapped calls inside it are not the user's

    @property
    def functions(self) -> list[Foreign]:
        """All tf.functions that are being called, outermost first."""
        path = self.fast_path  # another thread may leave it
        calling = path.calling if path is not None else None
        return self.called if calling is None else [calling, *self.called]

    def gathered(self) -> Gathered:
        """What was gathered for the row that ends; the next begins."""
        row = self.phases, self.own, self.elements or self.usual, self.value
        self.phases = [0] * PHASES
        self.own = 0
        self.elements = 0.0
        self.value = _NOTHING
        return row

    def split_spans(self, now: int) -> None:
        """Give open spans their share of the row that ends, and let them begin anew."""
        inner = 0
        for span in reversed(self.stack):
            took = now - span[SPAN_BEGAN]
            self.phases[span[SPAN_PHASE]] += took - span[SPAN_INNER] - inner
            inner = took
            span[SPAN_BEGAN] = now
            span[SPAN_INNER] = 0


class _Count:
    """The facts of one key so far."""

    __slots__ = ("count", "next_written", "took")

    def __init__(self) -> None:
        self.count = 0
        self.took = 0
        self.next_written = 0

    def add(self, took: int) -> None:
        self.count += 1
        self.took += took

    def is_written(self) -> bool:
        """Whether the last one is written; if so, the next that is will be further on."""
        if self.count < self.next_written:
            return False
        count = self.count
        self.next_written = count + 1 if count < _FACTS_IN_FULL else int(count * 1.01) + 1
        return True


class _LineTotal:
    """What happened at one line so far."""

    __slots__ = ("amount", "count", "data", "kind", "stack", "took", "written")

    def __init__(self, kind: str, stack: Stack, data: dict[str, Foreign]) -> None:
        self.kind = kind
        self.stack = stack
        self.data = data
        self.count = 0
        self.took = 0
        self.amount = 0.0
        self.written = 0  # count when it was last written


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:  # the program deleted it
        return ""


class _Lanes(threading.local):
    def __init__(self, lanes: list[Lane], joining: list[Callable[[Lane], None]]) -> None:
        self.lane = Lane()
        lanes.append(self.lane)
        for join in joining:
            join(self.lane)


class Recorder:
    """The one object that probes know. Nothing here may raise into the user's program."""

    def __init__(self, folder: str, late: bool = False) -> None:
        self.folder = folder
        self.late = late  # the program was running already
        self.user = UserCode()
        self.lanes: list[Lane] = []
        # Called on each thread at its first wrapped call, by a recording that began late: what
        # the thread was in the middle of. Must not raise.
        self.joining: list[Callable[[Lane], None]] = []
        self.local = _Lanes(self.lanes, self.joining)
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
        self.looks: dict[str, int] = {}  # nanoseconds of inspections by probe, in any thread
        self._pending: list[str] = []
        self._counts: dict[tuple[str, str], _Count] = {}
        self._sources: set[str] = set()
        self._copies: list[tuple[str, str]] = []  # sources that wait: digest and text
        self._totals: dict[tuple[str, int, int], _LineTotal] = {}
        self._kept: list[CodeType] = []  # of lines with totals: an id must not be used again
        self._lock = threading.Lock()

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

    def line(self, kind: str, at: int, /, **data: object) -> None:
        """Write a fact whatever its number; for the few that must never be thinned."""
        try:
            text = json.dumps({"k": kind, "t": at, **data}, default=str)
        except Exception as problem:  # noqa: BLE001 - called within the user's own calls
            text = json.dumps({"k": Unwritten.kind, "t": at, "kind": kind, "why": repr(problem)})
        self._pending.append(text)

    def emit(self, fact: Fact, at: int | None = None) -> None:
        """Write a fact; one that is `Thinned` is counted, and written unless there were very many.

        `at` is its time, if that is not now.
        """
        try:
            if isinstance(fact, Thinned):
                counted = self._counted(fact.kind, fact.key, int(fact.took))
                if not counted.is_written():
                    return
                fact = fact.replace(n=counted.count, sum=counted.took)
            self._pending.append(encode(fact, clock() if at is None else at))
        except Exception as problem:  # noqa: BLE001 - called within the user's own calls
            self._unwritten(fact, problem)

    def _unwritten(self, fact: Fact, problem: Exception) -> None:
        why = f"{type(problem).__name__}: {problem}"
        self.line(Unwritten.kind, clock(), kind=fact.kind, why=why)
        self.probes[fact.probe] = f"lost: {type(fact).__name__} could not be written: {why}"
        self.line(ProbeState.kind, clock(), name=fact.probe, state=self.probes[fact.probe])

    def count(self, kind: type[Thinned], key: str, took: int = 0) -> None:
        """Count a fact whose details nobody wants; see `wants`."""
        self._counted(kind.kind, key, took)

    def _counted(self, kind: str, key: str, took: int) -> _Count:
        """The facts of a key, one more included."""
        counted = self._counts.get((kind, key))
        if counted is None:
            if len(self._counts) > _MOST_KEYS:
                key = ""
            counted = self._counts.setdefault((kind, key), _Count())
        counted.add(took)
        return counted

    def wants(self, kind: type[Thinned], key: str = "") -> bool:
        """Whether the next fact of this key will be written: only then gather its details."""
        counted = self._counts.get((kind.kind, key))
        return counted is None or counted.count + 1 >= counted.next_written

    def stack(self, frame: FrameType | None, limit: int = 6) -> Stack:
        """The user's frames, innermost first; their files are kept with the run."""
        try:
            return tuple(Place(*place) for place in self.kept(self.user.stack(frame, limit)))
        except Exception as problem:  # noqa: BLE001 - called within the user's own calls
            self._failed("frames", problem)
            return ()

    def kept(self, places: list[tuple[str, int, str]]) -> list[tuple[str, int, str]]:
        for file, _, _ in places:
            self.keep_source(file)
        return places

    def keep_source(self, file: str) -> None:
        if file in self._sources or len(self._sources) > _MOST_SOURCES:
            return
        if "UNSLOW_NO_SOURCES" in os.environ:
            return
        self._sources.add(file)
        import hashlib
        import linecache

        text = "".join(linecache.getlines(file))
        if not text or len(text) > _MOST_SOURCE_CHARACTERS:
            return
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]
        self.emit(SourceKept(file=file, digest=digest))
        self._copies.append((digest, text))

    def _copy_sources(self) -> None:
        while self._copies:
            digest, text = self._copies.pop()
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
        kind: type[Tally],
        frame: FrameType | None,
        took: int,
        amount: float = 0.0,
        /,
        **data: object,
    ) -> None:
        """Add up something that happens at a line, however often; written at growing intervals.

        `data` holds the kind's own fields; those of the first call at a line are kept.
        """
        if frame is None:
            return
        key = (kind.kind, id(frame.f_code), frame.f_lasti)
        total = self._totals.get(key)
        if total is None:
            if len(self._totals) > _MOST_TALLIES:
                return
            self._kept.append(frame.f_code)
            total = self._totals[key] = _LineTotal(kind.kind, self.stack(frame), data)
        total.count += 1
        total.took += took
        total.amount += amount

    def is_tallied(self, kind: type[Tally], frame: FrameType) -> bool:
        """Whether something of this kind was added up at this line before."""
        return (kind.kind, id(frame.f_code), frame.f_lasti) in self._totals

    def tallier(self, kind: type[Tally], frame: FrameType) -> Callable[[int, int, int], None]:
        """Adds many at once at a line: how many, their nanoseconds, and those of the last one."""
        key = (kind.kind, id(frame.f_code), frame.f_lasti)

        def add(count: int, took: int, _: int) -> None:
            total = self._totals.get(key)
            if total is not None:
                total.count += count
                total.took += took

        return add

    def write_tallies(self, steps: int) -> None:
        """Write the running totals that have changed since they were last written."""
        for total in list(self._totals.values()):
            if total.count == total.written:
                continue
            total.written = total.count
            self.line(
                total.kind,
                clock(),
                count=total.count,
                took_ns=total.took,
                amount=total.amount,
                stack=total.stack,
                steps=steps,
                **total.data,
            )

    def flush(self, wait: bool = True) -> None:
        """Append the lines that wait; without `wait`, not if another thread is writing."""
        if not self._lock.acquire(wait):
            return
        try:
            # The list itself stays: another thread may be about to append to it.
            pending = self._pending[:]
            del self._pending[: len(pending)]
            self._copy_sources()
            if pending:
                data = "\n".join(pending) + "\n"
                self.writer.lines(data.encode("utf-8", "backslashreplace"))
        finally:
            self._lock.release()

    def open_span(self, lane: Lane, phase: int) -> Span:
        span = [phase, clock(), 0]
        lane.stack.append(span)
        return span

    def close_span(self, lane: Lane, span: Span) -> int:
        """End a span; its self time goes to its phase. Returns the whole of its nanoseconds."""
        stack = lane.stack
        while stack and stack.pop() is not span:  # an unclosed span ends with its parent
            pass
        phase, began, inner = span
        took = clock() - began
        if lane.within >= 0 and phase in _ABSORBED:
            if phase == Phase.RUN:
                lane.ran += took - inner
            phase = lane.within
        lane.phases[phase] += took - inner
        lane.calls += 1
        if stack:
            stack[-1][SPAN_INNER] += took
        return took

    def span_of_past(self, lane: Lane, phase: int, began: int, inner: int) -> Span:
        """A span of a call that has ended: it is opened as if it had been seen from its start."""
        span = [phase, began, inner]
        lane.stack.append(span)
        return span

    def keep_out(self, lane: Lane, spent: int, name: str) -> None:
        """Take an inspection out of the step under way, and out of the spans open around it."""
        for span in lane.stack:
            span[SPAN_BEGAN] += spent
        lane.own += spent
        lane.calls += 1  # what comes next is not just one more repetition of a call
        self.spent(name, spent)

    def spent(self, name: str, nanoseconds: int) -> None:
        """An inspection by this probe took this long, in any thread."""
        self.looks[name] = self.looks.get(name, 0) + nanoseconds

    def after_fork(self) -> None:
        """In a forked child: nothing of the parent's is written again."""
        self.pid = os.getpid()
        self.watched = False
        self.writer = Writer(self.folder, f"{_HOST}-{self.pid}")
        self._pending = []
        self._copies = []
        self._counts = {}
        self._totals = {}
        self._sources = set()
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
