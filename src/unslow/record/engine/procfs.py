"""Reads the small files of /proc and /sys."""

from __future__ import annotations

import ctypes
import os

_MOST = 1 << 14  # bytes: more than any of them has, or than is needed of it

# Without releasing Python's lock: none of these reads blocks, but getting the lock back from a busy
# training does, and disturbs it once more.
_SYSTEM = ctypes.PyDLL(None) if os.name == "posix" else None


def read(*paths: str) -> str:
    """The first of some files that can be read; "" where there is none."""
    if _SYSTEM is None:
        return ""
    for path in paths:
        file = _SYSTEM.open(os.fsencode(path), os.O_RDONLY | os.O_CLOEXEC)
        if file < 0:
            continue
        buffer = ctypes.create_string_buffer(_MOST)
        size = _SYSTEM.read(file, buffer, _MOST)
        _SYSTEM.close(file)
        if size >= 0:  # a kernel may be built without this file's contents
            return buffer.raw[:size].decode("ascii", "replace")
    return ""
