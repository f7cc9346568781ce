"""A thread of another process that sleeps: code is injected there, so that no thread that works is
stopped."""

from __future__ import annotations

import platform
import time
from pathlib import Path

# The number of the system call in which a thread waits for another one; see syscall(2).
_FUTEX = {"x86_64": 202, "aarch64": 98}
# seconds in which a thread that is idle must not have run: a few steps of a short training
_ASLEEP = 0.02


def idle_thread(pid: int) -> int | None:
    """The number of a thread that waits for work; None where there is none, or the system does not
    tell."""
    before = _sleeping(pid)
    if not before:
        return None
    time.sleep(_ASLEEP)
    after = _sleeping(pid)
    idle = {thread for thread, ran in after.items() if before.get(thread) == ran and thread != pid}
    # The oldest: a young one may belong to an iterator, and end before it is traced. One that ended
    # was waited for in vain, in one of 90 attempts.
    return min(idle, default=None)


def _sleeping(pid: int) -> dict[int, int]:
    """Threads that wait for another one, and the nanoseconds that each has run so far."""
    futex = _FUTEX.get(platform.machine())
    found: dict[int, int] = {}
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return found
    for thread in threads:
        try:
            call = (thread / "syscall").read_text().split()[0]
            ran = int((thread / "schedstat").read_text().split()[0])
        except (OSError, ValueError, IndexError):  # it ended, or the kernel has no such file
            continue
        if call == str(futex):
            found[int(thread.name)] = ran
    return found
