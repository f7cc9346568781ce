"""Lets the watcher see a line while it runs, not the next line that releases Python's lock.

A thread that wants Python's lock waits for `sys.getswitchinterval()` before it asks for it. With
the usual 5 ms, a line that takes less is missed, and the sample lands on the next line that
releases the lock by itself: the wrong one. The interval is a setting of the whole process, so it is
shortened only while one thread of the program runs Python, and the program sees and sets its own.
"""

from __future__ import annotations

import sys

_SHORT = 0.00005  # seconds
_HALF = 0.0000005  # of the microseconds that Python cuts an interval to
_get, _set = sys.getswitchinterval, sys.setswitchinterval


class SwitchInterval:
    """The interval of the process: the program's, or a shorter one of ours."""

    def __init__(self) -> None:
        self._programs = self._expected = _get()
        self._given_up = False  # the program chose an interval itself: it stays

    def install(self) -> None:
        """From here on the program sees its own interval, whatever ours is."""
        sys.getswitchinterval = self._getswitchinterval
        sys.setswitchinterval = self._setswitchinterval

    def uninstall(self) -> None:
        self.restore()
        if sys.getswitchinterval == self._getswitchinterval:
            sys.getswitchinterval = _get
        if sys.setswitchinterval == self._setswitchinterval:
            sys.setswitchinterval = _set

    def shorten(self, threads: int) -> None:
        """Before the watcher waits; `threads` run Python, ours included.

        Threads that compete for the lock keep their interval: it shapes how fast they run.
        """
        if threads <= 2 and not self._given_up:
            self._choose(_SHORT)

    def restore(self) -> None:
        """While the watcher works it holds the lock: who waits for it must not interrupt it."""
        self._choose(self._programs)

    def _choose(self, interval: float) -> None:
        if abs(_get() - self._expected) > _HALF:  # set by a reference from before `install`
            self._chosen_by_program()
        elif interval != self._expected:
            _set(interval + _HALF)
            self._expected = _get()

    def _chosen_by_program(self) -> None:
        self._programs = self._expected = _get()
        self._given_up = True

    def _getswitchinterval(self) -> float:
        """Return the current thread switch interval."""
        return self._programs

    def _setswitchinterval(self, interval: float, /) -> None:
        """Set the ideal thread switching delay inside the Python interpreter."""
        _set(interval)  # raises as it always does
        self._chosen_by_program()
