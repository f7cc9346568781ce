"""A short window of TensorFlow's own profiler, around one call or a few steps."""

from __future__ import annotations

import sys
import time

from unslow.record.engine.allocator import heap_bytes
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.procfs import read
from unslow.record.probes.profiler.muted_stderr import muted

# Seen on 2.15 to 2.21, loaded with TensorFlow itself. Without it there are no windows.
_PROFILER = "tensorflow.python.profiler.internal._pywrap_profiler"
_MOST_BYTES = 3 << 20  # about 50 000 events
USUAL_LEVEL = 2  # all ops
# Making a profile of these takes 0.1 s: an event takes 2.5 µs (TensorFlow 2.21, a 2 GHz core), and
# up to twice that where names are long.
FEW_EVENTS = 40_000

# An event takes at least this much memory of the C allocator and this much work of the thread that
# adds it: 132 bytes and 1.2 µs in a loop of the smallest ops, 320 bytes in a tf.data pipeline
# (TensorFlow 2.21). Together they bound how many there are: what a program computes takes work but
# keeps no memory, and what it keeps takes little work.
_EVENT_BYTES = 100
_EVENT_WORK = 1200  # nanoseconds


class Window:
    """A window that is open: the profiler's session, and what the process had used before it."""

    __slots__ = ("_heap", "_scheduled", "_worked", "_worked_here", "session")

    def __init__(self, session: Foreign) -> None:
        self.session = session
        self._heap = heap_bytes()
        self._worked, self._worked_here = time.process_time_ns(), time.thread_time_ns()
        self._scheduled = _scheduled()

    def most_events(self) -> int:
        """A bound on its events, for the thread that opened it: there may be fewer, not more.

        0 where the C allocator does not tell what it has handed out.
        """
        here = time.thread_time_ns() - self._worked_here
        by_work = (time.process_time_ns() - self._worked - here) // _EVENT_WORK
        if self._heap < 0 or by_work < FEW_EVENTS:  # asking the allocator may take longer
            return 0 if self._heap < 0 else max(0, by_work)
        return min(by_work, max(0, heap_bytes() - self._heap) // _EVENT_BYTES)

    def prepared(self) -> int:
        """Nanoseconds in which the thread that opened it ran or could have run.

        It prepares a function by itself, and then waits for the threads that run it.
        """
        return _scheduled() - self._scheduled


def _scheduled() -> int:
    """Nanoseconds for which this thread has run or waited for a processor so far."""
    fields = read("/proc/thread-self/schedstat").split()
    if len(fields) < 2:  # not Linux, or a kernel without the counters
        return time.thread_time_ns()
    return int(fields[0]) + int(fields[1])


def open_window(folder: str = "", level: int = USUAL_LEVEL) -> Window | None:
    """Start the profiler; None where it is missing or already in use. `folder`: for its export."""
    module = sys.modules.get(_PROFILER)
    if module is None:
        return None
    options = {"host_tracer_level": level, "python_tracer_level": 0, "device_tracer_level": 0}
    with muted():
        session = None
        try:
            session = module.ProfilerSession()
            session.start(folder, options)
            return Window(session)
        except Exception:  # noqa: BLE001 - the fence of a probe: another session is active
            session = None  # while its last words are kept out
            return None


def close_window(window: Window) -> bytes:
    """Stop the profiler and return its profile unread: our process has time for that."""
    with muted():
        data = bytes(window.session.stop())
    return data if len(data) <= _MOST_BYTES else b""


def stop_window(window: Window) -> None:
    """Stop the profiler and discard its profile.

    By letting the session go: `stop` makes a profile of all events first, which took 0.5 s for
    200,000 of them, and this 0.03 s (TensorFlow 2.21).
    """
    try:
        with muted():
            window.session = None
    except Exception:  # noqa: BLE001 - the fence of a probe: it was stopped by someone else
        return


def export_window(window: Window) -> None:
    """Stop the profiler and let it write its profile below the folder of `open_window`."""
    with muted():
        window.session.export_to_tb()
