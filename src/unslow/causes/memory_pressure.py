"""Memory is full: the machine swaps or drops pages, and the training waits for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.host.machine import during, gained, slowdown
from unslow.analyse.memory.account import READS as ACCOUNT_READS
from unslow.analyse.memory.account import memory_account
from unslow.analyse.memory.parts import Part
from unslow.analyse.memory.process_memory import (
    largest_containers,
    limit,
    rise,
    steps_until_full,
    used,
)
from unslow.analyse.sketches.sketch import Sketch
from unslow.cause import Cause
from unslow.facts.memory import Containers
from unslow.model import Certainty, Evidence, Finding, Forecast, Loop, Run

_STALLED = 0.05  # seconds of waiting for memory per second (judgement)
_MANY_FAULTS = 50.0  # pages a second read back from the disk (judgement)
_NEARLY_FULL = 0.9  # of the limit
_MUCH_SWAPPED = 64 << 20  # bytes that went to the swap while the loop ran (judgement)
_PAGE_READ = 1e-4  # seconds to read a page back from a fast disk, where waiting is not measured
_MOST_LOST = 0.95  # of the time: something was computed
_MUCH_SLACK = 1e8  # bytes
_WORTH_NAMING = 1e7  # bytes
_MOST_NAMED = 3
_COULD_SHRINK = (Part.HELD, Part.SOURCE, Part.BUFFER, Part.CONSTANT, Part.STATE)


class MemoryPressure(Cause):
    """
    What happens
    The memory of the machine, or of the container, is nearly full. The kernel swaps pages out or
    drops parts of files, and the training waits whenever it needs one of them again.

    Why it is slow
    Reading a page back from disk takes a thousand times as long as reading it from memory. It
    gets worse quickly and ends with the process being killed.

    The fix
    Use less memory: a smaller batch, a smaller shuffle buffer or cache, an optimizer with less
    state, no containers that keep what every step made. Or give the process more memory.

    When we are wrong
    Size alone is never reported: a large process that waits for nothing is not under pressure.
    The kernel counts all processes: another one may be short of memory instead of this one.
    """

    title = "the memory is full"
    reads = (Containers, *ACCOUNT_READS)
    needs = ("machine",)
    deeper_than = ("noisy-machine", "python-overhead", "python-input", "input-bound")

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            yield from self._judge(run, loop)

    def _judge(self, run: Run, loop: Loop) -> Iterable[Finding]:
        process = run.process_of(loop)
        pressure = _pressure(run, loop)
        if not pressure.waits_for_memory:
            return
        share, lost = pressure.share, pressure.lost
        is_container = bool(process.machine.get("limit_bytes"))
        where = "the container's limit" if is_container else "the machine's memory"
        growth = rise(run, loop, "rss")
        rate = growth.per_step if growth is not None and growth.lasting else 0.0
        yield Finding(
            cause=self.id,
            location=None,
            seconds=lost * loop.total,
            grows=rate > 0,
            title=f"{say.share(share)} of {where} is in use: "
            f"the training waits {say.share(lost)} of the time for memory",
            certainty=Certainty.MEASURED if pressure.is_measured else Certainty.LIKELY,
            evidence=(
                Evidence("limit", limit(process), "bytes"),
                *_evidence(pressure),
                *(Evidence(f"held by {name}", size, "bytes") for name, size in _holders(run, loop)),
            ),
            forecast=_forecast(loop, limit(process), share, rate) if rate > 0 else None,
            advice=_advice(run, loop, bool(pressure.paged)),
        )


@dataclass(frozen=True)
class _Pressure:
    """How full the memory is, and how much a loop waits for it."""

    share: float  # of the limit that is in use
    swapped: float  # bytes that went to the swap
    stalled: float  # seconds per second of waiting for memory, by the kernel's count
    faults: float  # pages read back per second
    paged: float | None  # seconds per second of disk and kernel work for pages, where known

    @property
    def waits_for_memory(self) -> bool:
        is_full = self.share >= _NEARLY_FULL or self.swapped >= _MUCH_SWAPPED
        waits = self.stalled >= _STALLED or self.faults >= _MANY_FAULTS
        return is_full and waits

    @property
    def measured(self) -> float:
        return max(self.stalled, self.paged or 0.0)

    @property
    def is_measured(self) -> bool:
        return self.measured >= _STALLED

    @property
    def lost(self) -> float:
        """The share of the loop's time that is lost."""
        return min(_MOST_LOST, self.measured if self.is_measured else self.faults * _PAGE_READ)


def _pressure(run: Run, loop: Loop) -> _Pressure:
    faults = gained(run, loop, "major_faults") or 0.0
    _, swap = during(run, loop, "swap_used")
    return _Pressure(
        share=used(run, loop),
        swapped=float(swap.max() - swap[0]) if len(swap) else 0.0,
        stalled=gained(run, loop, "memory_stall") or 0.0,
        faults=faults,
        paged=_paged(run, loop) if faults >= _MANY_FAULTS else None,
    )


def _evidence(pressure: _Pressure) -> Iterator[Evidence]:
    yield Evidence("of it in use", say.share(pressure.share))
    yield Evidence("waited for memory", round(pressure.stalled, 3), "s per s")
    yield Evidence("pages read back", round(pressure.faults, 1), "per s")
    if pressure.paged:
        yield Evidence("kernel and disk busy with them", round(pressure.paged, 3), "s per s")
    yield Evidence("moved to the swap", pressure.swapped, "bytes")


def _holders(run: Run, loop: Loop) -> list[tuple[str, float]]:
    """What takes most of the memory: parts of the account of the peak, and containers that grow."""
    containers = [(f"`{each.path}`", each.bytes) for each in largest_containers(run, loop)]
    account = memory_account(run)
    parts = account.parts if account is not None and account.process == loop.process else ()
    named = [(part.name, part.bytes) for part in parts if part.part in _COULD_SHRINK]
    found = sorted([*containers, *named], key=lambda holder: -holder[1])
    return [(name, size) for name, size in found[:_MOST_NAMED] if size > _WORTH_NAMING]


def _forecast(loop: Loop, most: float, share: float, rate: float) -> Forecast:
    left = most * (1 - share)
    step = loop.steps + int(left / rate)
    return Forecast(step=step, bytes=most, text=steps_until_full(left, rate))


def _paged(run: Run, loop: Loop) -> float | None:
    """Seconds per second of waiting for the disk and of kernel work, where both are for pages.

    They are where the disk reads much more than the program asks for. The kernel counts as waiting
    for memory only what it dropped shortly before. On a busy machine its work takes longer.
    """
    disk = gained(run, loop, "read_bytes") or 0.0
    asked = gained(run, loop, "read_chars") or 0.0
    waited = gained(run, loop, "io_stall")
    if not waited or disk <= 2 * asked:
        return None
    kernel = gained(run, loop, "system_cpu") or 0.0
    return waited + kernel * slowdown(run.process_of(loop), loop.start, loop.stop)


def _advice(run: Run, loop: Loop, paged: bool) -> str:
    """What would free how much."""
    if paged:
        return (
            "Files that are mapped into memory (`np.memmap`, `mmap_mode=`) are read from disk page "
            "by page: give the process as much memory as they need, or read them in order and "
            "shuffle what was read."
        )
    holders = [f"{name} holds {say.size(size)}" for name, size in _holders(run, loop)[:1]]
    _, slack = during(run, loop, "heap_slack")
    unused = float(np.median(slack)) if len(slack) else 0.0
    if unused > _MUCH_SLACK:
        holders.append(f"the allocator keeps {say.size(unused)} unused")
    lead = f"Here {' and '.join(holders)}. " if holders else ""
    return (
        f"{lead}Half the batch halves what its activations need; smaller shuffle buffers and "
        "caches help too."
    )


def _ticks(**columns: tuple[float, float]) -> dict[str, list[float]]:
    return {name: list(np.linspace(first, last, 24)) for name, (first, last) in columns.items()}


_SIZE = {"cores": 2, "memory_bytes": 8e9}
MemoryPressure.FIRES = (
    Sketch(
        "a table on the disk that is larger than the container's memory",
        [0.01] * 400,
        machine={**_SIZE, "limit_bytes": 2e9},
        ticks=_ticks(
            group_bytes=(1.95e9, 1.99e9),
            memory_stall=(0, 0.1),
            io_stall=(0, 2),
            major_faults=(0, 900),
            read_bytes=(0, 1e8),
            read_chars=(0, 1e6),
            available=(5e9, 5e9),
        ),
    ),
    Sketch(
        "a machine that swaps",
        [0.01] * 400,
        machine=_SIZE,
        ticks=_ticks(
            memory_stall=(0, 1.5),
            available=(4e8, 1e8),
            swap_used=(0, 1e9),
            major_faults=(0, 4000),
            rss=(6e9, 7e9),
        ),
    ),
    Sketch(
        "a container that takes pages back all the time",
        [0.01] * 400,
        machine={**_SIZE, "limit_bytes": 2e9},
        ticks=_ticks(
            group_bytes=(1.95e9, 1.99e9),
            memory_stall=(0, 1),
            major_faults=(0, 9000),
            available=(5e9, 5e9),
        ),
    ),
)
MemoryPressure.QUIET = (
    Sketch(
        "a container whose memory is full of files that are read",
        [0.01] * 400,
        machine={**_SIZE, "limit_bytes": 2e9},
        ticks=_ticks(
            group_bytes=(1.95e9, 1.99e9),
            memory_stall=(0, 0.01),
            io_stall=(0, 2),
            major_faults=(0, 20),
            read_bytes=(0, 1e9),
            read_chars=(0, 1e9),
            available=(5e9, 5e9),
        ),
    ),
    Sketch(
        "a large process that waits for nothing",
        [0.01] * 400,
        machine=_SIZE,
        ticks=_ticks(
            memory_stall=(0, 0.01), available=(3e8, 2e8), swap_used=(0, 0), major_faults=(0, 10)
        ),
    ),
    Sketch(
        "pages of libraries that are read for the first time",
        [0.01] * 400,
        machine=_SIZE,
        ticks=_ticks(
            memory_stall=(0, 0), available=(5e9, 5e9), swap_used=(0, 0), major_faults=(0, 4000)
        ),
    ),
)
