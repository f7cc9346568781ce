"""Runs a function of ours on the main thread between two instructions, as handlers of signals run.

An exception that arrives meanwhile, such as `KeyboardInterrupt`, is raised in the program. Within a
callback that the interpreter makes by itself, of the garbage collector or of ctypes, it would be
printed and lost: the program would go on after Ctrl-C.

This module stays in a process that `unslow attach` has left (see leaving.py).
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

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
        self.schedule: Callable[[], int] = functools.partial(_add, _is_true, ctypes.py_object(self))

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
