"""The frame of the running code, for callbacks that are C code alone.

While a function that C code called is let go, `sys._getframe` takes a placeholder on the stack for
a frame: Python 3.12 returns it, Python 3.13 crashes. Called from Python it does neither.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from types import FrameType


def current_frames() -> Iterator[FrameType]:
    """At each request the frame that runs then, without any Python of ours.

    It is a frame of this module where no Python runs, as while Python exits. `PyEval_GetFrame` and
    `Py_NewRef` are parts of Python's C interface; the first passes over placeholders.
    """
    none = sys._getframe()
    address = ctypes.PYFUNCTYPE(ctypes.c_size_t)(("PyEval_GetFrame", ctypes.pythonapi))
    at = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_size_t)(("Py_NewRef", ctypes.pythonapi))
    known = {0: id(none), -1: none}  # holds on to the frame as well
    # The address or, where it is 0, that of the frame of this module. It is asked for twice.
    addresses = map(known.get, iter(address, -1), iter(address, -1))
    return map(at, addresses)
