"""Keeps what TensorFlow's profiler logs of itself out of the user's stderr."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from unslow.record.engine.forks import in_child

# What the profiler logs of itself where TF_CPP_MIN_LOG_LEVEL lets it; seen on 2.15 to 2.21.
_OURS = re.compile(
    rb"^.*\] (?:Profiler session|\w+_tracer_level|Collecting XSpace).*\n?", re.MULTILINE
)
_STDERR = 2
_write = os.write  # a program may replace it


class _Redirection:
    """Where stderr goes while one or more threads open or close a window.

    The first thread redirects it and the last one restores it: a thread that took what another
    one had redirected for the real stderr would restore the wrong one, for good. A signal handler
    may do all of it in the middle of any method, on the same thread.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._threads = 0  # that are between `begin` and `end`
        self._real = self._holder = -1

    def begin(self) -> bool:
        """Whether stderr is redirected now; `end` must follow."""
        with self._lock:
            if self._threads:
                self._threads += 1
                return True
            return self._redirect()

    def _redirect(self) -> bool:
        opened: list[int] = []
        try:
            opened.append(os.memfd_create("unslow", os.MFD_CLOEXEC))
            opened.append(os.dup(_STDERR))
            self._holder, self._real, self._threads = *opened, 1
            os.dup2(opened[0], _STDERR)
        except OSError:  # stderr is closed, or there are no descriptors left
            self._holder = self._real = -1
            self._threads = 0
            _close(*opened)
            return False
        return True

    def end(self) -> None:
        """Restore stderr and pass on what is not the profiler's. Never raises."""
        with self._lock:
            if self._threads > 1:
                self._threads -= 1
                return
            holder, real = self._holder, self._real
            self._holder, self._real, self._threads = -1, -1, 0
            if real < 0:  # in a child that was forked meanwhile
                return
            _restore(real, holder)
        text = _text_of(holder)
        _close(holder)
        if text:
            with suppress(OSError):
                _write(_STDERR, text)

    def after_fork(self) -> None:
        """A child that is forked while stderr is redirected gets the real one."""
        real, holder = self._real, self._holder
        self.__init__()  # type: ignore[misc]
        if real >= 0:
            _restore(real, holder)
            _close(holder)


def _restore(real: int, holder: int) -> None:
    """Unless the program has redirected stderr meanwhile: then it stays as it is."""
    with suppress(OSError):  # the program closed descriptors that it does not know
        if os.path.sameopenfile(holder, _STDERR):
            os.dup2(real, _STDERR)
    _close(real)


def _text_of(holder: int) -> bytes:
    """What was written to stderr meanwhile, without the profiler's lines."""
    try:
        size = os.lseek(holder, 0, os.SEEK_END)
        return _OURS.sub(b"", os.pread(holder, size, 0)) if size else b""
    except OSError:
        return b""


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        with suppress(OSError):
            os.close(descriptor)


_redirection = _Redirection()


@contextmanager
def muted() -> Iterator[None]:
    """Keep the profiler's own lines out of the user's stderr; everything else is passed on."""
    if not hasattr(os, "memfd_create") or not _redirection.begin():
        yield
        return
    try:
        yield
    finally:
        _redirection.end()


in_child["stderr"] = _redirection.after_fork
