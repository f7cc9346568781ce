"""The stretches of a program's life: import, set-up, steps, what comes between and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unslow.facts.process import Imported
from unslow.model import Loop, Process, Run

IMPORT, PROGRAM, SETUP, TRAINING, BETWEEN, AFTER = (
    "import of TensorFlow",
    "program",  # all of it, where nothing is repeated that could be steps
    "set-up",
    "steps",
    "between loops",
    "after the last step",
)
ORDER = (IMPORT, PROGRAM, SETUP, TRAINING, BETWEEN, AFTER)


def stretch_at(run: Run, process: int, time: float) -> str:
    """The name of the stretch that a moment falls into."""
    covered = _merged(run.loops_of(process))
    if not covered:
        return PROGRAM
    if time < covered[0][0]:
        return SETUP
    if time > covered[-1][1]:
        return AFTER
    return TRAINING if any(start <= time <= end for start, end in covered) else BETWEEN


def gaps(run: Run, process: Process, loops: Sequence[Loop]) -> Iterator[tuple[str, float, float]]:
    """What of a process lies outside of its loops; a name may come several times."""
    imported = min(import_end(run, process), process.ended)
    yield IMPORT, process.started, imported
    at, name = imported, SETUP
    for start, end in _merged(loops):
        if start > at:
            yield name, at, start
        at, name = max(at, end), BETWEEN
    if process.ended > at:
        yield (AFTER if loops else PROGRAM), at, process.ended


def import_end(run: Run, process: Process) -> float:
    """When the import of TensorFlow was over."""
    found = run.facts(Imported, process.index)
    return found[0].time if found else process.started


def _merged(loops: Sequence[Loop]) -> list[tuple[float, float]]:
    """The intervals that loops cover."""
    found: list[tuple[float, float]] = []
    for loop in sorted(loops, key=lambda loop: loop.start):
        if found and loop.start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], loop.stop))
        else:
            found.append((loop.start, loop.stop))
    return found
