"""A short window of TensorFlow's own profiler, around one call or a few steps."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from unslow.record.engine.foreign import Foreign

# Seen on 2.15 to 2.21, loaded with TensorFlow itself. Without it there are no windows.
_PROFILER = "tensorflow.python.profiler.internal._pywrap_profiler"
_MOST_BYTES = 3 << 20  # about 50 000 events
# What the profiler logs of itself where TF_CPP_MIN_LOG_LEVEL lets it; seen on 2.15 to 2.21.
_OURS = re.compile(
    rb"^.*\] (?:Profiler session|\w+_tracer_level|Collecting XSpace).*\n?", re.MULTILINE
)
_STDERR = 2
USUAL_LEVEL = 2  # all ops

_saved = [-1]  # where stderr really goes while a window opens or closes


def open_window(folder: str = "", level: int = USUAL_LEVEL) -> Foreign | None:
    """Start the profiler; None where it is missing or already in use. `folder`: for its export."""
    module = sys.modules.get(_PROFILER)
    if module is None:
        return None
    try:
        with _muted():
            session = module.ProfilerSession()
            session.start(
                folder,
                {"host_tracer_level": level, "python_tracer_level": 0, "device_tracer_level": 0},
            )
        return session
    except Exception:  # noqa: BLE001 - the fence of a probe: another session is active
        return None


def close_window(session: Foreign) -> bytes:
    """Stop the profiler and return its profile unread: our process has time for that."""
    with _muted():
        data = bytes(session.stop())
    return data if len(data) <= _MOST_BYTES else b""


def stop_window(session: Foreign) -> None:
    """Stop the profiler and discard its profile."""
    try:
        with _muted():
            session.stop()
    except Exception:  # noqa: BLE001 - the fence of a probe: it was stopped by someone else
        return


def export_window(session: Foreign) -> None:
    """Stop the profiler and let it write its profile below the folder of `open_window`."""
    with _muted():
        session.export_to_tb()


@contextmanager
def _muted() -> Iterator[None]:
    """Keep the profiler's own lines out of the user's stderr; everything else is passed on."""
    if not hasattr(os, "memfd_create"):
        yield
        return
    try:
        holder = os.memfd_create("unslow", os.MFD_CLOEXEC)
        _saved[0] = os.dup(_STDERR)
    except OSError:
        yield
        return
    os.dup2(holder, _STDERR)
    try:
        yield
    finally:
        os.dup2(_saved[0], _STDERR)
        os.close(_saved[0])
        _saved[0] = -1
        size = os.lseek(holder, 0, os.SEEK_END)
        text = _OURS.sub(b"", os.pread(holder, size, 0)) if size else b""
        os.close(holder)
        if text:
            os.write(_STDERR, text)


def after_fork() -> None:
    """A child that is forked while stderr is redirected gets the real one."""
    if _saved[0] >= 0:
        os.dup2(_saved[0], _STDERR)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=after_fork)
