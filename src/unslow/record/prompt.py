"""Lets the watcher look at a line while it runs, not at the next line that lets go of Python's lock."""

from __future__ import annotations

import sys

# A thread that wants Python's lock waits this long before it asks for it. With the usual 5 ms, what a
# line does in less is seen at the next line that lets go of the lock by itself: the wrong one.
_SOON = 0.00005


class Prompt:
    """Asks for the lock sooner, but only while nobody else competes for it: the threads of a program that
    shares the lock among several keep the interval they had, since it shapes how fast they run."""

    def __init__(self) -> None:
        self._usual = sys.getswitchinterval()
        self._set = 0.0

    def adjust(self, threads: int) -> None:
        """Called with the number of threads that run Python, ours included."""
        if self._set and abs(sys.getswitchinterval() - self._set) > 1e-9:
            self._set, self._usual = -1.0, 0.0  # the program chose one itself: it stays
        if self._set < 0:
            return
        if threads > 2:
            self.restore()
        elif not self._set:
            sys.setswitchinterval(_SOON)
            self._set = sys.getswitchinterval()

    def restore(self) -> None:
        if self._set > 0 and abs(sys.getswitchinterval() - self._set) < 1e-9:
            sys.setswitchinterval(self._usual)
        if self._set > 0:
            self._set = 0.0
