"""Records Python that TensorFlow's threads run: generators, `py_function`, `numpy_function`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import NamedTuple

from unslow.facts.data import PythonFunction, PythonLine
from unslow.facts.schema import Place, Stack, stack_of
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.frames import UserCode
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import clock
from unslow.record.engine.thread_stacks import lines_of, threads
from unslow.record.probes.data.fingerprints import Comparison, comparison
from unslow.record.probes.functions.signatures import code_place

_MOST_FUNCTIONS = 500
_MOST_LINES = 2000
_SHORT = (
    2_000_000  # nanoseconds: the watcher gets Python's lock between such calls, not inside them
)
_FRAMES = 6  # of the user's, in a sample
_TRACED_FRAMES = 4
_MOST_WORKERS = 8  # threads that are sampled at once
_QUEUE_EVERY = 8  # calls between two reads of the run-queue delay, which take 15 µs each
_FIRST_TRACED = 8  # the first call that is traced line by line; then every doubling
_WRITE_GROWTH = 1.1  # totals are written when they have grown by a tenth


class _Function:
    """What one Python function has done so far, in nanoseconds."""

    __slots__ = (
        *("calls", "elements", "observed", "place", "queued", "ran", "traced", "wall", "written"),
    )

    def __init__(self, place: Place, elements: Comparison | None = None) -> None:
        self.place = place
        self.elements = elements
        self.calls = 0
        self.wall = 0
        self.ran = 0  # on a processor
        self.queued = 0  # waiting for a processor, over `observed` of `wall`
        self.observed = 0
        self.traced = _FIRST_TRACED  # the call that is traced next
        self.written = 0


class _Amount:
    """Samples or milliseconds at one line, and how much of them was written."""

    __slots__ = ("total", "written")

    def __init__(self) -> None:
        self.total = 0.0
        self.written = 0.0


class _Where(NamedTuple):
    token: Foreign
    way: str
    stack: Stack


class PythonFunctions(Probe):
    name = "python_functions"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._known: dict[Foreign, _Function] = {}
        self._running: dict[int, Foreign] = {}  # thread → the token of the function that it runs
        self._lines: dict[_Where, _Amount] = {}
        self.recorder.signals.tick.subscribe(self.name, self._write)
        self.recorder.signals.wake.subscribe(self.name, self._sample)

    def doors(self) -> Doors:
        # Called for every Python function in a graph, on 2.15 to 2.21.
        wrapped = self.wrapping({"FuncRegistry.__call__": self._call})
        return {"tensorflow.python.ops.script_ops": wrapped}

    def _call(self, original: Function) -> Function:
        known, begin, running, local = self._known, self._begin, self._running, self.recorder.local
        watched, spent, name = self._watched, self.recorder.spent, self.name

        def __call__(self: object, token: object, device: object, args: object) -> object:
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
            result = None
            began, ran = clock(), time.thread_time_ns()
            try:
                result = run(original, self, token, device, args)
                return result
            finally:
                took = clock() - began
                entry.calls += 1
                entry.wall += took
                entry.ran += time.thread_time_ns() - ran
                elements = entry.elements
                if elements is not None and not elements.done:
                    spent(name, elements.called(args, result, entry.wall))
                lane.busy = busy
                running.pop(thread, None)
                done(took)

        return __call__

    def _begin(self, registry: Foreign, token: object) -> _Function:
        if len(self._known) > _MOST_FUNCTIONS:
            return _Function(Place("", 0))
        function = registry.get(token, None)
        # py_function keeps it in an object.
        place = Place(*code_place(getattr(function, "_func", function)))
        if place.file and self.recorder.user.owns_file(place.file):
            self.recorder.keep_source(place.file)
        return self._known.setdefault(token, _Function(place, comparison(function)))

    def _watched(self, entry: _Function, token: object) -> tuple[Function, Callable[[int], None]]:
        """A call that is measured closely: its run-queue delay, or the lines of a short one."""
        too_short_to_sample = entry.wall < entry.calls * _SHORT
        if entry.calls >= entry.traced and too_short_to_sample and sys.gettrace() is None:
            entry.traced = max(2 * _FIRST_TRACED, entry.calls * 2)
            return _Lines(self.recorder.user, self._add_traced, token), lambda took: None
        before = _queue()

        def done(took: int) -> None:
            entry.queued += _queue() - before
            entry.observed += took

        return _run, done

    def _add_traced(self, token: object, stack: Stack, spent: int) -> None:
        self._add(_Where(token, "traced", self.recorder.kept(stack)), spent / 1e6)

    def _add(self, where: _Where, amount: float) -> None:
        if len(self._lines) < _MOST_LINES:
            self._lines.setdefault(where, _Amount()).total += amount

    def _sample(self) -> None:
        """Which of the user's lines run in those threads right now."""
        for thread, token in list(self._running.items()):
            stack = self._user_lines(thread)
            way, stacks = ("sampled", [stack]) if stack else ("workers", self._workers())
            for found in stacks:
                self._add(_Where(token, way, found), 1)

    def _user_lines(self, thread: int) -> Stack:
        return self.recorder.kept(self.recorder.user.places(lines_of(thread), _FRAMES))

    def _workers(self) -> list[Stack]:
        """The user's code in other threads: a function without a line of the user's waits for them.

        Keras has tf.data call such a function where a PyDataset has workers.
        """
        known = {*self._running, self.watcher.training_thread(), self.watcher.main}
        others = [thread for thread in threads() if thread not in known][:_MOST_WORKERS]
        return [stack for stack in map(self._user_lines, others) if stack]

    def _write(self) -> None:
        for where, amount in list(self._lines.items()):
            if amount.total > amount.written * _WRITE_GROWTH:
                amount.written = amount.total
                token, count = str(where.token), amount.total
                self.recorder.emit(
                    PythonLine(token=token, count=count, way=where.way, stack=where.stack)
                )
        for token, entry in list(self._known.items()):
            self._write_elements(str(token), entry.elements)
            if entry.calls > entry.written * _WRITE_GROWTH:
                entry.written = entry.calls
                self.recorder.emit(
                    PythonFunction(
                        token=str(token),
                        place=entry.place,
                        count=entry.calls,
                        took=entry.wall,
                        ran=entry.ran,
                        queued=entry.queued,
                        observed=entry.observed,
                        step=self.steps.total,
                    )
                )

    def _write_elements(self, token: str, elements: Comparison | None) -> None:
        answer = elements.answer(token) if elements is not None else None
        if elements is not None and answer is not None and answer != elements.written:
            elements.written = answer
            self.recorder.emit(answer)


def _run(original: Function, *args: object) -> Foreign:
    return original(*args)


_PLAIN: tuple[Function, Callable[[int], None]] = (_run, lambda took: None)


def _queue() -> int:
    """Nanoseconds that this thread has waited for a processor; 0 where Linux has no figure."""
    try:
        with open("/proc/thread-self/schedstat", "rb") as file:
            return int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return 0


class _Lines:
    """Runs one call with the time of each of the user's lines; only where nobody else traces."""

    def __init__(
        self, user: UserCode, add: Callable[[Foreign, Stack, int], None], token: object
    ) -> None:
        self._user = user
        self._add = add
        self._token = token
        self._spent: dict[Stack, int] = {}
        self._stack: Stack = ()
        self._at = 0

    def __call__(self, original: Function, *args: object) -> Foreign:
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

    def _enter(self, frame: FrameType, event: str, argument: object) -> Foreign:
        try:
            return self._line if self._user.owns(frame.f_code) else None
        except Exception:  # noqa: BLE001 - what a trace function raises, the user's line raises
            return None

    def _line(self, frame: FrameType, event: str, argument: object) -> Foreign:
        if event not in ("line", "return"):
            return self._line
        here = frame if event == "line" else frame.f_back
        try:
            self._turn(stack_of(self._user.stack(here, _TRACED_FRAMES)))
        except Exception:  # noqa: BLE001 - as above: this frame is no longer followed
            return None
        return self._line

    def _turn(self, stack: Stack) -> None:
        """The time since the last turn belongs to the line that ran until now."""
        now = clock()
        if len(self._spent) < _MOST_LINES:
            self._spent[self._stack] = self._spent.get(self._stack, 0) + now - self._at
        self._stack = stack
        self._at = clock()  # our own time here is nobody's
