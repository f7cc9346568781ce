"""Sees Python code that TensorFlow's own threads run: generators, `py_function` and `numpy_function` of pipelines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from unslow.facts.schema import Place
from unslow.record.engine.frames import UserCode
from unslow.record.engine.probe import Probe
from unslow.record.engine.recorder import clock
from unslow.record.engine.thread_stacks import lines_of, threads
from unslow.record.probes.functions.signatures import code_place

_MOST_FUNCTIONS = 500
_MOST_LINES = 2000
_SHORT = 2_000_000  # nanoseconds: the watcher gets Python's lock between such calls, never inside of them
_FRAMES = 6  # of the user, in a sample
_MOST_WORKERS = 8  # threads that are looked at, at once
_QUEUE_EVERY = (
    8  # calls between two looks at how long a thread stood in line for a processor: some 15 µs each
)


class _Function:
    """What one Python function has done so far."""

    __slots__ = ("calls", "observed", "place", "queued", "ran", "traced", "wall", "written")

    def __init__(self, place: Place) -> None:
        self.place = place
        self.calls = 0
        self.wall = 0
        self.ran = 0  # of it on a processor
        self.queued = 0  # waiting for a processor, over `observed` nanoseconds of wall time
        self.observed = 0
        self.traced = 8  # the call that is watched line by line next
        self.written = 0


class PythonFunctions(Probe):
    name = "python_functions"

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._known: dict[Any, _Function] = {}
        self._running: dict[int, Any] = {}  # thread → the token of the function that it runs
        self._lines: dict[
            tuple[Any, ...], list[float]
        ] = {}  # token, way and user's frames → amount, amount written
        self.recorder.signals.tick.subscribe(self.name, self._write)
        self.recorder.signals.wake.subscribe(self.name, self._peek)

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        # Called for every Python function in a graph, on 2.15 to 2.21.
        return {
            "tensorflow.python.ops.script_ops": lambda module: self.replace(
                module.FuncRegistry, "__call__", self._call
            )
        }

    def _call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        known, begin, running, local = self._known, self._begin, self._running, self.recorder.local
        watched = self._watched

        def __call__(self: Any, token: Any, device: Any, args: Any) -> Any:
            entry = known.get(token) or begin(self, token)
            lane = local.lane
            thread = lane.thread
            running[thread] = token
            lane.busy, busy = True, lane.busy  # what it calls is not a phase of any step
            run, done = (
                watched(entry, token)
                if entry.calls % _QUEUE_EVERY == 0 or entry.calls >= entry.traced
                else _PLAIN
            )
            began, ran = clock(), time.thread_time_ns()
            try:
                return run(original, self, token, device, args)
            finally:
                took = clock() - began
                entry.calls += 1
                entry.wall += took
                entry.ran += time.thread_time_ns() - ran
                lane.busy = busy
                running.pop(thread, None)
                done(took)

        return __call__

    def _begin(self, registry: Any, token: Any) -> _Function:
        if len(self._known) > _MOST_FUNCTIONS:
            return _Function(Place("", 0))
        function = registry.get(token, None)
        place = code_place(
            getattr(function, "_func", function)
        )  # py_function keeps it in an object
        if place[0] and self.recorder.user.owns_file(place[0]):
            self.recorder.keep_source(place[0])
        return self._known.setdefault(token, _Function(place))

    def _watched(
        self, entry: _Function, token: Any
    ) -> tuple[Callable[..., Any], Callable[[int], None]]:
        """A call at which more is looked at: the queue for a processor, and the lines of calls too short to sample."""
        if (
            entry.calls >= entry.traced
            and entry.wall < entry.calls * _SHORT
            and sys.gettrace() is None
        ):
            entry.traced = max(16, entry.calls * 2)
            return _Lines(self.recorder.user, self._add_line, token), lambda took: None
        before = _queue()

        def done(took: int) -> None:
            entry.queued += _queue() - before
            entry.observed += took

        return _run, done

    def _add_line(self, token: Any, stack: tuple[Any, ...], spent: int) -> None:
        for file, _, _ in stack:
            self.recorder.keep_source(file)
        if len(self._lines) < _MOST_LINES:
            self._lines.setdefault((token, "traced", *stack), [0, 0])[0] += spent / 1e6

    def _peek(self) -> None:
        """Which of the user's lines run in those threads right now."""
        if not self._running:
            return
        for thread, token in list(self._running.items()):
            stack = self._user_lines(thread)
            way, stacks = ("sampled", [stack]) if stack else ("workers", self._workers())
            for found in stacks:
                if len(self._lines) < _MOST_LINES:
                    self._lines.setdefault((token, way, *found), [0, 0])[0] += 1

    def _user_lines(self, thread: int) -> list[tuple[str, int, str]]:
        return self.recorder.kept(self.recorder.user.places(lines_of(thread), _FRAMES))

    def _workers(self) -> list[list[tuple[str, int, str]]]:
        """What the user's code does in other threads: a function without a line of the user's waits for them.

        So does what Keras has tf.data call where a PyDataset has workers.
        """
        known = {*self._running, self.watcher.training_thread(), self.watcher.main}
        others = [thread for thread in threads() if thread not in known][:_MOST_WORKERS]
        return [stack for stack in map(self._user_lines, others) if stack]

    def _write(self) -> None:
        """Running totals, written when they have grown by a tenth."""
        for (token, way, *stack), counts in list(self._lines.items()):
            if counts[0] > counts[1] * 1.1:
                counts[1] = counts[0]
                self.recorder.line(
                    "python_line", clock(), token=str(token), count=counts[0], way=way, stack=stack
                )
        for token, entry in list(self._known.items()):
            if entry.calls > entry.written * 1.1:
                entry.written = entry.calls
                self.recorder.line(
                    "python_function",
                    clock(),
                    token=str(token),
                    count=entry.calls,
                    took_ns=entry.wall,
                    ran_ns=entry.ran,
                    queued_ns=entry.queued,
                    observed_ns=entry.observed,
                    place=entry.place,
                    step=self.steps.total,
                )


def _run(original: Callable[..., Any], *args: Any) -> Any:
    return original(*args)


_PLAIN: tuple[Callable[..., Any], Callable[[int], None]] = (_run, lambda took: None)


def _queue() -> int:
    """Nanoseconds that this thread has waited for a processor; 0 where Linux does not tell."""
    try:
        with open("/proc/thread-self/schedstat", "rb") as file:
            return int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return 0


class _Lines:
    """Runs one call with the time of each of the user's lines; only where nobody else traces."""

    def __init__(
        self, user: UserCode, add: Callable[[Any, tuple[Any, ...], int], None], token: Any
    ) -> None:
        self._user = user
        self._add = add
        self._token = token
        self._spent: dict[tuple[Any, ...], int] = {}
        self._stack: tuple[Any, ...] = ()
        self._at = 0

    def __call__(self, original: Callable[..., Any], *args: Any) -> Any:
        self._at = clock()
        sys.settrace(self._enter)
        try:
            return original(*args)
        finally:
            sys.settrace(None)
            self._turn(())
            for stack, spent in self._spent.items():
                if stack:
                    self._add(self._token, stack, spent)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if self._user.owns(frame.f_code) else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event in ("line", "return"):
            here = frame if event == "line" else frame.f_back
            self._turn(tuple(self._user.stack(here, 4)))
        return self._line

    def _turn(self, stack: tuple[Any, ...]) -> None:
        """The time since the last turn belongs to the line that ran until now."""
        now = clock()
        if len(self._spent) < _MOST_LINES:
            self._spent[self._stack] = self._spent.get(self._stack, 0) + now - self._at
        self._stack = stack
        self._at = clock()  # our own time here is nobody's
