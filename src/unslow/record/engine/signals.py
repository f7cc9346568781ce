"""The protocol between engine and probes: everything that they report to each other."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Generic, ParamSpec

from unslow.record.engine.foreign import Foreign

if TYPE_CHECKING:
    from unslow.record.engine.recorder import Lane
    from unslow.record.engine.thread_stacks import Line
    from unslow.record.probes.functions.compiled import Call, InspectedCall

P = ParamSpec("P")
Report = Callable[[str, Exception], None]


class Signal(Generic[P]):
    """Calls every subscriber; one that raises is dropped and its probe reported as lost."""

    def __init__(self, failed: Report) -> None:
        self._failed = failed
        self._subscribers: list[tuple[str, Callable[P, object]]] = []

    def subscribe(self, probe: str, handler: Callable[P, object]) -> None:
        self._subscribers.append((probe, handler))

    def unsubscribe(self, handler: Callable[P, object]) -> bool:
        """Whether it was subscribed. Safe to call while the signal is being sent."""
        before = self._subscribers
        self._subscribers = [entry for entry in before if entry[1] != handler]
        return len(self._subscribers) < len(before)

    def silence(self, probe: str) -> None:
        self._subscribers = [entry for entry in self._subscribers if entry[0] != probe]

    def clear(self) -> None:
        self._subscribers = []

    def __bool__(self) -> bool:
        return bool(self._subscribers)

    def send(self, *args: P.args, **kwargs: P.kwargs) -> None:
        for probe, handler in self._subscribers:
            try:
                handler(*args, **kwargs)
            except Exception as problem:  # noqa: BLE001 - the fence of a probe
                self.unsubscribe(handler)
                self._failed(probe, problem)


class Signals:
    """Every signal there is. A probe subscribes when it is made; whoever sees the event sends."""

    def __init__(self, failed: Report) -> None:
        # After a row, at growing distances: the time for expensive inspections. Updates so far.
        self.step: Signal[[Lane, int]] = Signal(failed)
        # After every single row, which rules out the fast path: for trials and workers.
        self.row: Signal[[Lane]] = Signal(failed)
        # A step ended that all workers of a job make together: its number. Not in other programs.
        self.shared_step: Signal[[Lane, int]] = Signal(failed)
        # Weights were updated: in what way, by whom, called from where.
        self.update: Signal[[Lane, str, object, FrameType | None]] = Signal(failed)
        # A trace begins: a probe that took its wrappers out puts them back.
        self.trace_begins: Signal[[]] = Signal(failed)
        # On the watcher's thread: it woke up; it read the counters; it took a sample (the lines on
        # the training thread's stack, the number of the stack, the phase).
        self.wake: Signal[[]] = Signal(failed)
        self.tick: Signal[[]] = Signal(failed)
        self.sample: Signal[[list[Line], int, int]] = Signal(failed)
        # A call of a tf.function, outside any other: before one that may be unlike the others,
        # after one that was, and one that raised.
        self.call_begins: Signal[[Call]] = Signal(failed)
        self.call_was_unusual: Signal[[InspectedCall]] = Signal(failed)
        self.call_raised: Signal[[Lane]] = Signal(failed)
        # In a recording that began late: an iterator that was made before gives its next element.
        self.iterator_met: Signal[[Foreign]] = Signal(failed)
        # TensorFlow threw away its prepared kernels.
        self.kernels_reset: Signal[[]] = Signal(failed)
        # A session's graph trains (once for each); a session repeats one run (True) or ceases to.
        self.session_graph: Signal[[Lane, Foreign]] = Signal(failed)
        self.session_repeats: Signal[[bool]] = Signal(failed)
        # The program asks session runs for a full trace (True) or ceases to; where; nanoseconds.
        self.full_trace: Signal[[bool, FrameType | None, int]] = Signal(failed)
        # The program uses TensorFlow's profiler, of which a process has one: ours must be closed.
        self.profiler_taken: Signal[[]] = Signal(failed)

    def ignore_program(self) -> None:
        """Send nothing more of what happens on the program's threads, which go on while we
        leave."""
        for name, signal in vars(self).items():
            if name not in ("wake", "tick", "sample"):
                signal.clear()

    def silence(self, probe: str) -> None:
        """Nothing is sent to this probe any more."""
        for signal in vars(self).values():
            signal.silence(probe)
