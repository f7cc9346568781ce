"""Work of ours beside a program that runs: the program goes on in between, and we know how long it
could not."""

from __future__ import annotations

import gc
import sys
import threading
import time

# Seconds of work after which a rest is due: less than Python lets a thread run while another one
# waits (sys.getswitchinterval), so that the program hardly ever has to interrupt us.
_WORK = 0.002
# Seconds that the program has for itself at each rest: that interval, and longer than the work.
_REST = 0.005
# Seconds after which Python collects garbage by itself again, even if we are not done: attaching
# takes half a second, but 20 on a machine with six times as many programs as processors. Until then
# only collections of all objects are missing, of which most programs make one in minutes.
_LONGEST_HELD_OFF = 30.0
# Objects made since the last collection after which we collect the youngest: it takes about 1 ms.
_MOST_YOUNG = 10_000
_IN_STEPS = sys.version_info >= (3, 14)  # then Python collects old objects bit by bit
collect_garbage = gc.collect
disable_collections = gc.disable  # Python's own, whatever stands in its place meanwhile


class GivingWay:
    """Rests, and the longest that this thread worked between two of them. Belongs to one thread.

    Our objects would make a collection of garbage due, on this thread or another: for all objects
    of the program, 190 ms with TensorFlow and Keras. So Python makes none meanwhile, unless the
    program asks for it; we collect the young objects. Use as a context manager; `hold_off` begins
    earlier.
    """

    def __init__(self, new_thread: bool = False) -> None:
        """`new_thread`: all that this thread has done so far was ours."""
        thread = threading.get_native_id()
        self._schedule = f"/proc/self/task/{thread}/schedstat"
        self.longest = 0.0  # seconds …
        self.waited = 0.0  # … and how much of that went by without a processor
        self._worked = 0.0  # processor time of this thread until it last rested …
        self._waited = 0.0  # … and how long it had waited for a processor
        if not new_thread:
            self._worked, self._waited = time.thread_time(), self._waited_for_processor()
        self._collects_at = time.monotonic() + _LONGEST_HELD_OFF
        self._holds_off = False
        self._disable = gc.disable

    def hold_off(self, begun: bool = False) -> None:
        """Collect no garbage until the end of the block; `begun`: somebody did so for us."""
        if begun or gc.isenabled():
            self._holds_off = True
            disable_collections()
            gc.disable = self._disabled_by_program

    def __enter__(self) -> GivingWay:
        self.hold_off()
        return self

    def __exit__(self, *problem: object) -> None:
        self.let_go()
        self._work_ends()

    def rest(self) -> None:
        """Let the program go on, if it is time."""
        if time.thread_time() - self._worked < _WORK:
            return
        if gc.get_count()[0] > _MOST_YOUNG:
            self._collect_young()
        self._work_ends()
        self.collect_if_late()
        time.sleep(_REST)

    def collect_if_late(self) -> None:
        """Garbage cannot wait any longer, even if we are not done."""
        if time.monotonic() > self._collects_at:
            self.let_go()

    def _work_ends(self) -> None:
        worked, waited = time.thread_time(), self._waited_for_processor()
        # On a busy machine another process may have our processor while we hold Python's lock, or
        # while a thread that has given it up for us waits until we take it.
        took = worked - self._worked + waited - self._waited
        if took > self.longest:
            self.longest, self.waited = took, waited - self._waited
        self._worked, self._waited = worked, waited

    def _waited_for_processor(self) -> float:
        """Seconds that this thread could have run and did not; see proc(5)."""
        try:
            with open(self._schedule, "rb") as file:
                return int(file.read().split()[1]) * 1e-9
        except (OSError, LookupError, ValueError):  # the kernel has no such file
            return 0.0

    def let_go(self) -> None:
        """Collect garbage as before, and the youngest at once: most of these objects are ours. Else
        our next object would make that due, and any collection of older ones that is due by then.
        """
        if self._holds_off:
            self._collect_young()
            self._put_back()
            gc.enable()

    def _collect_young(self) -> None:
        """As Python does: the next generation each eleventh time. Never the oldest, and nothing
        where the program has disabled collections."""
        if self._holds_off and not _IN_STEPS:
            collect_garbage(int(gc.get_count()[1] > gc.get_threshold()[1]))

    def _disabled_by_program(self) -> None:
        """Disable automatic garbage collection."""
        self._put_back()
        gc.disable()

    def _put_back(self) -> None:
        self._holds_off = False
        if gc.disable == self._disabled_by_program:
            gc.disable = self._disable
