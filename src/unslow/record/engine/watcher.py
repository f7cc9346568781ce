"""Our one thread: samples the training thread's stack, reads counters, and writes."""

from __future__ import annotations

import _thread
import itertools
import os
import threading
import time
from collections.abc import Callable
from types import CodeType

from unslow.facts.phase import Phase
from unslow.facts.process import ITERATOR_END, MODULE_IMPORT, LowestRate, Samples, StackSeen, Tick
from unslow.record.engine.fence import Fence
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.lanes import SPAN_PHASE, Lane, clock
from unslow.record.engine.probe import span
from unslow.record.engine.procfs import read
from unslow.record.engine.recorder import Recorder
from unslow.record.engine.steps import Steps
from unslow.record.engine.switch_interval import SwitchInterval
from unslow.record.engine.thread_stacks import Line, lines_of, threads
from unslow.runfolder.layout import LOWEST_RATE

# Seconds between samples: a 64th of the time since the training began, within these limits. A
# sample takes about 0.2 ms, and an eager training, which always needs Python's lock, waits for it.
_PERIOD, _MOST_PERIOD = 0.02, 1.0
_SAMPLED = 64
_TICK = 250_000_000  # nanoseconds between readings of counters, at first: one takes a millisecond
# Then half as often each time: after 3 s, 15 s and 79 s, and after each `Limits.ticks_in_full`.
_TICKS_EARLY = 12, 36, 100
_TICK_AT_LOWEST = 10_000_000_000  # nanoseconds between readings once the verdict is known
_SAMPLES_EVERY = 250_000_000
_SAMPLES_IN_FULL = 60  # then the distance doubles, and doubles again after as many
_FLUSH = 1_000_000_000  # nanoseconds after the last write
_LONGEST_END = 5.0  # seconds that a program waits at its exit for a disk that does not answer
_MOST_STACKS = 3000
_FRAMES = 6
_OTHER, _RUN = int(Phase.OTHER), int(Phase.RUN)
_OURS = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")) + os.sep
_IMPORTS = "<frozen importlib._bootstrap>"  # the file of the code that imports a module
_TENSORFLOW = frozenset(("tensorflow", "keras", "tf_keras"))
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class Watcher:
    def __init__(self, recorder: Recorder, steps: Steps) -> None:
        self.recorder = recorder
        self.steps = steps
        self._readers: list[Callable[[], dict[str, float]]] = [self._memory, _counters, _traffic]
        self.main = threading.main_thread().ident or 0
        self.call_cost = 0  # nanoseconds of one wrapped call, measured here
        self.samples = 0
        self.rss = 0  # bytes, when last read
        self.stopping = False
        self.is_lowest = False  # the verdict is known: only steps and counters are recorded
        self._stop = _Stop()
        self._last: Callable[[], None] | None = None
        self._thread = 0
        self._ended = _thread.allocate_lock()  # held while the thread runs
        self._stacks: dict[tuple[Foreign, ...], int] = {}
        # By the innermost code and the user's line above it; the code is kept, so that its id
        # stays its own.
        self._leaves: dict[tuple[int, Foreign], tuple[str, CodeType]] = {}
        self._counts: dict[int, int] = {}
        self._due = 0.0
        self._interval = SwitchInterval()
        self._sampled = clock()
        self._ticked = 0
        self._ticks = 0
        self._tick_distance = _TICK
        self._samples_written = 0
        self._samples_distance = _SAMPLES_EVERY
        self._began = clock()  # of the training, once it has begun

    def start(self) -> None:
        """Start a thread that `threading` does not list: a program may join all that it lists."""
        self._interval.install()
        self._ended = _thread.allocate_lock()
        self._ended.acquire()
        _thread.start_new_thread(self._run, (self._ended,))

    def after_fork(self) -> None:
        """In a forked child, which has no such thread: undo what it changed in the process."""
        self._interval.uninstall()

    def _run(self, ended: _thread.LockType) -> None:
        self._thread = _thread.get_ident()
        try:
            self._watch()
            self._write_last()
        finally:
            ended.release()

    def stop(self, write_last: Callable[[], None]) -> None:
        """Let the thread write the rest, and wait for that, but not for a disk that hangs."""
        self.stopping = True
        self._last = write_last
        self._stop.set()
        if self._ended.acquire(timeout=_LONGEST_END):
            self._ended.release()
            self._write_last()  # where the thread did not
        self._interval.uninstall()

    def _write_last(self) -> None:
        write, self._last = self._last, None
        if write is None:
            return
        with Fence(self.recorder, "watcher"):
            self.tick(clock())
            self._write_samples(clock())
        write()

    def _watch(self) -> None:
        try:
            self.recorder.watched = True
            self.call_cost = self._calibrate()
            self._began = began = clock()
            steps, period, trains = self.steps.total, _PERIOD, self.steps.trains
            while not self._stop.wait(period):
                self._interval.restore()
                late = (clock() - began) / (_PERIOD * 1e9)
                # A call that holds Python's lock is sampled once it ends, and the wait was its own.
                # But where steps passed meanwhile, it was the machine that kept us waiting.
                self._due += late if self.steps.total == steps else period / _PERIOD
                if trains != self.steps.trains:
                    trains, self._began = True, began
                period = max(_PERIOD, min((began - self._began) / 1e9 / _SAMPLED, _MOST_PERIOD))
                self._wake()
                if self.is_lowest:
                    period = _MOST_PERIOD
                else:
                    self._interval.shorten(len(threads()))
                began, steps = clock(), self.steps.total
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost("watcher", f"{type(problem).__name__}: {problem}")
        finally:
            self.recorder.watched = False

    def _wake(self) -> None:
        now = clock()
        if not self.is_lowest:
            self._sample()
        self.recorder.signals.wake.send()
        if now - self._ticked >= self._tick_distance:
            self.tick(now)
        if not self.is_lowest and now - self._sampled >= self._samples_distance:
            self._write_samples(now)
        self.steps.write_waiting()
        if now - self.steps.flushed >= _FLUSH:
            self.steps.flush()

    def _lowest_if_asked(self, now: int) -> None:
        """Go on at the lowest rate once a file in the run folder requests it."""
        asked = os.path.exists(os.path.join(self.recorder.folder, LOWEST_RATE))
        if self.is_lowest or not asked:
            return
        self._write_samples(now)
        self.steps.inspects = False
        self.recorder.emit(LowestRate(steps=self.steps.total), clock())
        self.is_lowest = True
        self._tick_distance = max(self._tick_distance, _TICK_AT_LOWEST)

    def training_thread(self) -> int:
        lanes = [lane for lane in self.recorder.lanes if lane.steps]
        return max(lanes, key=lambda lane: lane.last).thread if lanes else self.main

    def _sample(self) -> None:
        thread = self.training_thread()
        lane, phase = self._lane(thread), self.phase_of(thread)
        lines = lines_of(thread)
        if not lines or (lane is not None and lane.busy):  # our inspection is not the user's time
            return
        key = self._key(lines, phase)
        if key is None:
            return
        number = self._stacks.get(key)
        if number is None:
            if len(self._stacks) >= _MOST_STACKS:
                return
            number = self._stacks[key] = len(self._stacks) + 1
            stack = self.recorder.kept(self.recorder.user.places(lines, _FRAMES))
            self.recorder.emit(StackSeen(id=number, stack=stack, leaf=key[0], phase=phase))
        weight, self._due = divmod(self._due, 1.0)
        self.samples += int(weight)
        if key[0] == ITERATOR_END:
            self.recorder.waited_for_ends += int(weight * _PERIOD * 1e9)
        self._counts[number] = self._counts.get(number, 0) + int(weight)
        self.recorder.signals.sample.send(lines, number, phase)

    def _lane(self, thread: int) -> Lane | None:
        return next((lane for lane in self.recorder.lanes if lane.thread == thread), None)

    def phase_of(self, thread: int) -> int:
        """The phase that a thread is in right now."""
        lane = self._lane(thread)
        return _phase(lane) if lane is not None else _OTHER

    def leaf_of(self, lines: list[Line]) -> str:
        """The library that runs below the user's innermost line; empty without such a line."""
        key = self._key(lines, _OTHER) if lines else None
        return str(key[0]) if key is not None else ""

    def _key(self, lines: list[Line], phase: int) -> tuple[Foreign, ...] | None:
        """The library that runs, its phase, and the user's innermost lines above it."""
        places = self.recorder.user.places(lines, 4)
        if not places:
            return None
        if lines[0] in self.recorder.iterator_ends:
            return (ITERATOR_END, phase, *places)
        code = lines[0][0]
        known = self._leaves.get((id(code), places[0]))
        if known is None:
            if len(self._leaves) >= _MOST_STACKS:
                self._leaves.clear()
            known = self._leaves[id(code), places[0]] = (self._leaf(lines), code)
        return (known[0], phase, *places)

    def _leaf(self, lines: list[Line]) -> str:
        """What runs below the user's innermost line."""
        owns = self.recorder.user.owns
        if owns(lines[0][0]):
            return "python"
        below = [code for code, _ in itertools.takewhile(lambda line: not owns(line[0]), lines)]
        files = [code.co_filename for code in below]
        if _IMPORTS in files:
            return MODULE_IMPORT
        # What TensorFlow and Keras call, such as optree, is their time.
        libraries = [_library(file) for file in files]
        return next((name for name in libraries if name in _TENSORFLOW), libraries[0])

    def _write_samples(self, now: int) -> None:
        counts, self._counts = self._counts, {}
        if counts:
            taken = tuple(counts.items())
            samples = Samples(since=self._sampled, counts=taken, steps=self.steps.total)
            self.recorder.emit(samples, now)
        self.recorder.write_tallies(self.steps.total)
        self._sampled = now
        self._samples_written += 1
        if self._samples_written % _SAMPLES_IN_FULL == 0:
            self._samples_distance *= 2

    def tick(self, now: int) -> None:
        """One reading of the process's counters."""
        self._ticked = now
        self._ticks += 1
        in_full = self.recorder.limits.ticks_in_full
        if self._ticks in _TICKS_EARLY or self._ticks % in_full == 0:
            self._tick_distance *= 2
        values: dict[str, Foreign] = {"steps": self.steps.total}
        if _thread.get_ident() == self._thread:
            values |= {"own_cpu": time.thread_time_ns(), "watcher": True}
        for reader in self._readers:
            try:
                values.update(reader())
            except (OSError, ValueError, LookupError):  # the system does not have them
                continue
        self.recorder.emit(Tick(**values), now)
        if not self.is_lowest:
            self.recorder.signals.tick.send()
            self._lowest_if_asked(now)

    def add_counters(self, *readers: Callable[[], dict[str, float]]) -> None:
        """More columns for each tick; a reader may raise where the system does not have them."""
        self._readers += readers

    def resident(self) -> int:
        """Bytes of memory that the process holds; the last known where it cannot be read."""
        fields = read("/proc/self/statm").split(maxsplit=2)
        if len(fields) > 1:
            self.rss = int(fields[1]) * _PAGE
        return self.rss

    def _memory(self) -> dict[str, float]:
        size = self.resident()
        return {"rss": size} if size else {}

    def _calibrate(self) -> int:
        """What one wrapped call costs here: the median of short bursts around nothing."""
        wrapped = span(self.recorder, _nothing, 0)
        bursts = []
        for _ in range(9):
            began = clock()
            for _ in range(50):
                wrapped()
            middle = clock()
            for _ in range(50):
                _nothing()
            bursts.append(((middle - began) - (clock() - middle)) // 50)
        return max(0, sorted(bursts)[4])


class _Stop:
    """An event to wait for by one call of C: `threading.Event` costs as much as a sample."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def wait(self, timeout: float) -> bool:
        return self._lock.acquire(timeout=timeout)

    def set(self) -> None:
        self._lock.release()


def _nothing() -> None:
    pass


def _phase(lane: Lane) -> int:
    """The phase that the time of a lane goes to right now."""
    try:
        return lane.within if lane.within >= 0 else lane.stack[-1][SPAN_PHASE]
    except IndexError:  # no span is open, or the last one was closed this very moment
        path = lane.fast_path  # its calls have no span
        return _RUN if path is not None and path.calling is not None else _OTHER


def _library(file: str) -> str:
    """The installed package that a file belongs to, or "python" for anything else."""
    for marker in ("site-packages", "dist-packages"):
        _, found, rest = file.partition(f"{os.sep}{marker}{os.sep}")
        if found:
            return rest.partition(os.sep)[0].removesuffix(".py")
    return "unslow" if file.startswith(_OURS) else "stdlib"


def _counters() -> dict[str, float]:
    fields = read("/proc/self/stat").rpartition(")")[2].split()
    ticks = os.sysconf("SC_CLK_TCK")
    return {
        "minor_faults": int(fields[7]),
        "major_faults": int(fields[9]),
        "user_cpu": int(fields[11]) / ticks,
        "system_cpu": int(fields[12]) / ticks,
        "threads": int(fields[17]),
    }


def _traffic() -> dict[str, float]:
    fields = dict(line.split(": ") for line in read("/proc/self/io").splitlines())
    return {
        "read_bytes": int(fields["read_bytes"]),
        "write_bytes": int(fields["write_bytes"]),
        "read_chars": int(fields["rchar"]),
        "write_chars": int(fields["wchar"]),
    }
