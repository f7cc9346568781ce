"""Work of ours beside a program that runs: the program goes on in between, and we know how long it
could not."""

from __future__ import annotations

import gc
import threading
import time

# Seconds that the program has for itself at each rest: as long as Python lets one thread run while
# another one waits (sys.getswitchinterval), and longer than what we do between two rests.
_REST = 0.005


class GivingWay:
    """Rests, and the longest work of this thread between two of them. Belongs to one thread.

    A garbage collection is not ours: Python makes it on whatever thread it becomes due, for all of
    the program's objects. Use as a context manager.
    """

    def __init__(self) -> None:
        self.longest = 0.0  # seconds of processor time
        self._worked = 0.0  # of this thread, at the last rest: none at all when it began
        self._collecting = 0.0  # the same when a collection began
        self._thread = threading.get_ident()

    def __enter__(self) -> GivingWay:
        gc.callbacks.append(self._collected)
        return self

    def __exit__(self, *problem: object) -> None:
        self._stretch_ends()
        gc.callbacks.remove(self._collected)

    def rest(self) -> None:
        self._stretch_ends()
        time.sleep(_REST)

    def _stretch_ends(self) -> None:
        now = time.thread_time()
        self.longest = max(self.longest, now - self._worked)
        self._worked = now

    def _collected(self, phase: str, info: object) -> None:
        if threading.get_ident() != self._thread:
            return
        if phase == "start":
            self._collecting = time.thread_time()
        else:
            self._worked += time.thread_time() - self._collecting
