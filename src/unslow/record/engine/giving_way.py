"""Work of ours beside a program that runs: the program goes on in between, and we know how long it
could not."""

from __future__ import annotations

import time

# Seconds that the program has for itself at each rest: as long as Python lets one thread run while
# another one waits (sys.getswitchinterval), and longer than what we do between two rests.
_REST = 0.005


class GivingWay:
    """Rests, and the longest work of this thread between two of them. Belongs to one thread."""

    def __init__(self) -> None:
        self.longest = 0.0  # seconds of processor time
        self._worked = 0.0  # of this thread, at the last rest: none at all when it began

    def rest(self) -> None:
        self.stretch_ends()
        time.sleep(_REST)

    def stretch_ends(self) -> None:
        now = time.thread_time()
        self.longest = max(self.longest, now - self._worked)
        self._worked = now
