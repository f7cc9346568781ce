"""Reads the small files in which the system tells about itself."""

from __future__ import annotations

import os

_MOST = 1 << 16  # bytes: more than any of them has


def read(*paths: str) -> str:
    """The first of some files that can be read; by calls of the system, since `open` takes three times as long."""
    for path in paths:
        try:
            file = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        try:
            return os.read(file, _MOST).decode("ascii", "replace")
        except OSError:  # a kernel that was built without it
            continue
        finally:
            os.close(file)
    return ""
