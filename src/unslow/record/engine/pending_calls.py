"""Runs a function of ours on the main thread between two instructions, as handlers of signals run.

An exception that arrives meanwhile, such as `KeyboardInterrupt`, is raised in the program. Within a
callback that the interpreter makes by itself, of the garbage collector or of ctypes, it would be
printed and lost: the program would go on after Ctrl-C.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Iterator

_HANGS_WHERE_TRACED = sys.version_info[:2] == (3, 11)
# `Py_AddPendingCall` and `PyObject_IsTrue` are parts of Python's stable C interface.
_add = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.py_object)(
    ("Py_AddPendingCall", ctypes.pythonapi)
)
_is_true = ctypes.cast(ctypes.pythonapi.PyObject_IsTrue, ctypes.c_void_p)
# Those that ended, for the next recording. None is ever freed: the interpreter may still ask for
# one that waits, and holds no reference to it.
_ended: list[PendingCall] = []


class PendingCall:
    """Something to run on the main thread whenever `schedule` is called, on any thread.

    The interpreter asks for its truth, where an error is one of the program. `schedule` runs no
    Python, and returns -1 if too many calls wait.
    """

    def __init__(self) -> None:
        self.run: Callable[[], object] | None = None
        asked = _untraced(self) if _HANGS_WHERE_TRACED else self
        self.schedule: Callable[[], int] = functools.partial(
            _add, _is_true, ctypes.py_object(asked)
        )

    def __bool__(self) -> bool:
        if self.run is not None:
            self.run()
        return False

    def end(self) -> None:
        """Calls that wait do nothing any more."""
        if self.run is not None:
            self.run = None
            _ended.append(self)


def pending_call(run: Callable[[], object]) -> PendingCall:
    found = _ended.pop() if _ended else PendingCall()
    found.run = run
    return found


def _untraced(pending: PendingCall) -> object:
    """An object that runs the call when asked for its truth, hidden from tracers and profilers.

    Python 3.11 never gets past the beginning of a traced function while a pending call waits and
    another one runs (`DO_TRACING` in its ceval.c: it checks for pending calls, which only run one
    at a time, before each attempt): a program under a profiler or a debugger would hang. So tracing
    is suspended there, in a generator: what continues behind `yield from` is not such a beginning.
    """
    suspend, resume = _of_thread("EnterTracing"), _of_thread("LeaveTracing")
    current = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThreadState_Get", ctypes.pythonapi))

    def prepare() -> None:
        """A generator runs once. The next one is there before the call, which may be stopped."""
        generator = run_once()
        next(generator)
        # Unless an interrupt ended the generator at its start: then nothing runs.
        asked.__bool__ = functools.partial(next, generator, False)  # type: ignore[attr-defined]

    def run_once() -> Iterator[bool]:
        yield from (False,)
        thread = current()
        try:
            suspend(thread)
            prepare()
            if pending.run is not None:
                pending.run()
        finally:
            resume(thread)
        yield False

    asked = type("Asked", (), {})
    prepare()
    return asked()


def _of_thread(name: str) -> Callable[[int], None]:
    """A function of Python's C interface (since 3.11) that takes the state of a thread."""
    kind = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
    return kind((f"PyThreadState_{name}", ctypes.pythonapi))
