"""The frame of the running code, for callbacks that are C code alone.

While a function that C code called is let go, `sys._getframe` takes a place holder on the stack for
a frame: Python 3.12 returns it, Python 3.13 crashes. Called from Python it does neither.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from types import FrameType


def current_frames() -> Iterator[FrameType]:
    """At each request the frame that runs then, without any Python of ours.

    `PyThreadState_GetFrame` is a part of Python's C interface and passes over place holders.
    """
    thread = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThreadState_Get", ctypes.pythonapi))
    kind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)
    frame_of = kind(("PyThreadState_GetFrame", ctypes.pythonapi))
    return map(frame_of, iter(thread, None))
