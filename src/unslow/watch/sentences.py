"""What alerts say: one sentence each, with its numbers and what to type next."""

from __future__ import annotations

import time

from unslow.report import words
from unslow.report.live import clock
from unslow.watch.filling import Full
from unslow.watch.slowdown import Slower
from unslow.watch.stall import Stalled


def slower(found: Slower, since: float, again: bool) -> str:
    more = "slower again" if again else "slower"
    of = "of processor time " if found.by_work else ""
    times = f"{words.seconds(found.now)} {of}a step instead of {words.seconds(found.before)}"
    return f"{more} by {words.share(found.share)} since {_at(since)}: {times}"


def stalled(found: Stalled, since: float) -> str:
    does = "its process works on something else" if found.works else "its process waits"
    return f"no step for {clock(found.seconds)}, since {_at(since)}; {does}"


def memory(found: Full) -> str:
    grows = f"{words.size(found.used)}, {words.size(60 * found.rate)} more every minute"
    return f"memory is full in about {clock(found.left)}: {grows}, {words.size(found.room)} left"


def disk(found: Full, where: str) -> str:
    if found.rate <= 0:
        return f"the disk of {where} is full: nothing more can be saved or recorded"
    grows = f"{words.size(60 * found.rate)} more every minute, {words.size(found.room)} left"
    return f"the disk of {where} is full in about {clock(found.left)}: {grows}"


def died(how: str, steps: str, memory_share: float) -> str:
    full = f"; memory was {words.share(memory_share)} full" if memory_share > 0.8 else ""
    return f"died after {steps}: {how}{full}"


def done(seconds: float, steps: str) -> str:
    return f"done: {steps} in {clock(seconds)}"


def _at(moment: float) -> str:
    """By the clock on the wall, with the day where it is not today."""
    then = time.localtime(moment)
    today = then[:3] == time.localtime()[:3]
    return time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S", then)
