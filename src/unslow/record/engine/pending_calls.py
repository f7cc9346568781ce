"""Runs a function of ours on the main thread between two instructions, as handlers of signals run.

An exception that arrives meanwhile, such as `KeyboardInterrupt`, is raised in the program. Within a
callback that the interpreter makes by itself, of the garbage collector or of ctypes, it would be
printed and lost: the program would go on after Ctrl-C.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

_kept: list[PendingCall] = []  # the interpreter may ask for them as long as the process lives


class PendingCall:
    """Something to run on the main thread whenever `schedule` is called, on any thread.

    The interpreter asks for its truth, where an error is one of the program. `schedule` runs no
    Python, and returns -1 if too many calls wait. `Py_AddPendingCall` and `PyObject_IsTrue` are
    parts of Python's stable C interface.
    """

    def __init__(self, run: Callable[[], object]) -> None:
        self._run: Callable[[], object] | None = run
        _kept.append(self)
        kind = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.py_object)
        is_true = ctypes.cast(ctypes.pythonapi.PyObject_IsTrue, ctypes.c_void_p)
        add = kind(("Py_AddPendingCall", ctypes.pythonapi))
        self.schedule: Callable[[], int] = functools.partial(add, is_true, ctypes.py_object(self))

    def __bool__(self) -> bool:
        if self._run is not None:
            self._run()
        return False

    def end(self) -> None:
        """Calls that wait do nothing any more."""
        self._run = None
