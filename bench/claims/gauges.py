"""Clocks and scales for the sides: seconds of a call, bytes of the process."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_PAGE = os.sysconf("SC_PAGE_SIZE")


_waits: list[Callable[[], Any]] = []  # what waits for this process's turn, where sides run abreast


def take_turns(wait: Callable[[], Any]) -> None:
    """From here on, every call that is timed waits until it is this process's turn."""
    _waits[:] = [wait]


def seconds(call: Callable[[], Any]) -> float:
    waits, _waits[:] = _waits[:], []  # what is timed inside of it must not wait: that would count
    for wait in waits:
        wait()
    began = time.perf_counter()
    try:
        call()
    finally:
        took = time.perf_counter() - began
        _waits[:] = waits
    return took


def each(call: Callable[[], Any], calls: int) -> list[float]:
    """The seconds of each of so many calls."""
    return [seconds(call) for _ in range(calls)]


def steady(call: Callable[[], Any], calls: int, warm: int = 10) -> float:
    """Seconds of a call once it is warm, undisturbed: the lower quartile of short blocks."""
    return calm(_blocks(call, calls, warm))


def flow(call: Callable[[], Any], calls: int, warm: int = 10) -> float:
    """Seconds of a call that takes from a buffer: the median of blocks, for a quick one may be followed by a wait."""
    return statistics.median(_blocks(call, calls, warm))


def _blocks(call: Callable[[], Any], calls: int, warm: int) -> list[float]:
    for _ in range(warm):
        call()
    width = max(1, calls // 14)

    def block() -> None:
        for _ in range(width):
            call()

    return [taken / width for taken in each(block, max(7, calls // width))]


def in_turn(
    one: Callable[[int], float], other: Callable[[int], float], times: int
) -> tuple[float, float]:
    """Two things timed in one process, A B then B A, undisturbed: what the first leaves behind meets both."""
    ones, others = [], []
    for turn in range(times):
        if turn % 2 == 0:
            ones.append(one(turn))
        others.append(other(turn))
        if turn % 2 == 1:
            ones.append(one(turn))
    return calm(ones), calm(others)


def calm(values: Sequence[float]) -> float:
    """The lower quartile: what else runs on the machine can only make a call longer."""
    return statistics.quantiles(values, n=4)[0] if len(values) > 1 else values[0]


def middle(values: Sequence[float]) -> float:
    return statistics.median(values)


def resident() -> int:
    """Bytes of memory that the process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


def peak(call: Callable[[], Any]) -> float:
    """How far above its level at the start the memory goes during a call."""
    before = resident()
    # "5" resets the kernel's high-water mark to the level of this moment.
    Path("/proc/self/clear_refs").write_text("5")
    call()
    status = Path("/proc/self/status").read_text().splitlines()
    high = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    return float(max(high - before, _PAGE))


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
