"""The memory is full: the machine swaps or takes pages back, and the training waits for them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.host.machine import during, gained, process_of
from unslow.analyse.memory.process_memory import held, limit, rise, used
from unslow.analyse.sketches.sketch import Sketch
from unslow.cause import Cause
from unslow.model import Certainty, Evidence, Finding, Forecast, Loop, Process, Run

_STALLED = 0.05  # seconds of waiting for memory per second
_FAULTS = 50.0  # pages a second read back from the disk
_FULL = 0.9  # of the limit
_SWAPPED = 64 << 20  # bytes that went to the swap while the loop ran
_PAGE_READ = (
    1e-4  # seconds to read a page back from a fast disk, where the kernel does not tell the waiting
)


class MemoryPressure(Cause):
    """
    What happens

    The memory of the machine, or of the container, is all but used up. The kernel moves pages to the swap or throws
    out parts of files, and the training waits whenever it needs one of them again.

    Why it is slow

    A page that must come back from a disk takes a thousand times as long as one in memory. It gets worse quickly,
    and it ends with the process being killed.

    The fix

    Use less: a smaller batch, a smaller shuffle buffer or cache, an optimizer with less state, no containers that
    keep what every step made; or give the process more memory.

    When we are wrong

    A large process is not under pressure as long as nothing is waited for: size alone is never reported. The
    kernel's number counts all processes: where another one is short of memory, this one may only be a witness.
    """

    title = "the memory is full"
    needs = ("machine",)
    deeper_than = ("noisy-machine", "python-overhead", "python-input", "input-bound")

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            yield from self._judge(run, loop)

    def _judge(self, run: Run, loop: Loop) -> Iterable[Finding]:
        process = process_of(run, loop)
        share = used(process, loop)
        stalled = gained(process, loop, "memory_stall")
        faults = gained(process, loop, "major_faults") or 0.0
        paged = _paged(process, loop) if faults >= _FAULTS else None
        _, swap = during(process, loop, "swap_used")
        swapped = float(swap.max() - swap[0]) if len(swap) else 0.0
        if share < _FULL and swapped < _SWAPPED:
            return
        if (stalled or 0.0) < _STALLED and faults < _FAULTS:
            return
        told = max(stalled or 0.0, paged or 0.0)
        lost = told if told >= _STALLED else faults * _PAGE_READ
        seconds = min(0.95, lost) * loop.total
        where = (
            "the container's limit"
            if process.machine.get("limit_bytes")
            else "the machine's memory"
        )
        growth = rise(run, loop, "rss")
        rate = growth.per_step if growth is not None and growth.lasting else 0.0
        left = limit(process) * (1 - share)
        yield Finding(
            cause=self.id,
            location=None,
            seconds=seconds,
            grows=rate > 0,
            title=f"{say.share(share)} of {where} is in use: "
            f"the training waits {say.share(min(0.95, lost))} of the time for memory",
            certainty=Certainty.MEASURED if told >= _STALLED else Certainty.LIKELY,
            evidence=(
                Evidence("limit", limit(process), "bytes"),
                Evidence("of it in use", round(share, 3)),
                Evidence("waited for memory", round(stalled or 0.0, 3), "s per s"),
                Evidence("pages read back", round(faults, 1), "per s"),
                *(
                    [Evidence("kernel and disk busy with them", round(paged, 3), "s per s")]
                    if paged
                    else []
                ),
                Evidence("moved to the swap", swapped, "bytes"),
                *(
                    Evidence(f"held by `{name}`", size, "bytes")
                    for name, size in held(run, loop)[:3]
                    if size > 1e6
                ),
            ),
            forecast=Forecast(
                step=loop.steps + int(left / rate),
                bytes=limit(process),
                text=f"the memory is used up after {int(left / rate):,} more steps",
            )
            if rate > 0
            else None,
            advice=_advice(run, loop, bool(paged)),
        )


def _paged(process: Process, loop: Loop) -> float | None:
    """Seconds per second of waiting for the disk, and of the kernel's own work, where both are for pages.

    They are where the disk reads much more than the program asks for. The kernel counts as waiting for memory only
    what it threw out shortly before.
    """
    disk, asked = (
        gained(process, loop, "read_bytes") or 0.0,
        gained(process, loop, "read_chars") or 0.0,
    )
    waited = gained(process, loop, "io_stall")
    return (
        waited + (gained(process, loop, "system_cpu") or 0.0)
        if waited and disk > 2 * asked
        else None
    )


def _advice(run: Run, loop: Loop, paged: bool) -> str:
    """What would free how much."""
    if paged:
        return (
            "Files that are mapped into memory (`np.memmap`, `mmap_mode=`) are read from the disk a piece at a time: "
            "give the process as much memory as they need, or read them in their order and shuffle what was read."
        )
    process = process_of(run, loop)
    said = [f"`{name}` holds {say.size(size)}" for name, size in held(run, loop)[:1] if size > 1e7]
    _, slack = during(process, loop, "heap_slack")
    if len(slack) and float(np.median(slack)) > 1e8:
        said.append(f"the allocator keeps {say.size(float(np.median(slack)))} that nobody uses")
    batch = "Half the batch halves what its activations need"
    return (
        f"Here {' and '.join(said)}. " if said else ""
    ) + f"{batch}; smaller shuffle buffers and caches help too."


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
