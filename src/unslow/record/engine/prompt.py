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
        self._usual = self._set = sys.getswitchinterval()
        self._given_up = False  # the program chose an interval itself: it stays

    def hurry(self, threads: int) -> None:
        """Before the watcher waits: called with the number of threads that run Python, ours included."""
        self._choose(_SOON if threads <= 2 else self._usual)

    def rest(self) -> None:
        """While the watcher looks, it has the lock: who waits for it must not wake it up to be let in between."""
        self._choose(self._usual)

    def _choose(self, interval: float) -> None:
        if self._given_up or abs(sys.getswitchinterval() - self._set) > 1e-9:
            self._given_up = True
        elif interval != self._set:
            sys.setswitchinterval(interval)
            self._set = sys.getswitchinterval()
