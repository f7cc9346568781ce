"""What watching costs: processor time per run and second, and memory over ten million steps."""

from __future__ import annotations

import gc
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.watch.folders import Growing
from unslow.watch.targets import Target
from unslow.watch.watched import WatchedRun
from unslow.watch.watching import Watching

_STEPS = 10_000_000
_STEP = 0.01  # seconds
_PIECE = 500.0  # seconds of training between two looks, where only memory is measured
_RUNS = 20
_LOOKS = 30


def measure() -> dict[str, Any]:
    found = {**_processor(), **_memory()}
    print(found, flush=True)
    return found


def _processor() -> dict[str, Any]:
    """Processor seconds of looks at many runs that each write 100 steps a second."""
    with tempfile.TemporaryDirectory() as place:
        runs = [Growing(Path(place) / f"run-{number}") for number in range(_RUNS)]
        watching = Watching(Target(Path(place), True), print, clocks=runs[0].clocks())
        spent = 0.0
        for look in range(_LOOKS):
            for run in runs:
                run.steps(5.0, _STEP)
            before = time.process_time()
            watching.poll()
            spent += (time.process_time() - before) if look >= 5 else 0.0
        looks = _LOOKS - 5
    return {"runs": _RUNS, "look": spent / looks / _RUNS, "share": spent / looks / _RUNS / 5.0}


def _memory() -> dict[str, Any]:
    """Resident memory of a process that watches one run, every tenth of ten million steps."""
    held = []
    with tempfile.TemporaryDirectory() as place:
        run = Growing(Path(place) / "run", merges=True)
        watched = WatchedRun(run.folder, clocks=run.clocks())
        pieces = int(_STEPS * _STEP / _PIECE)
        for piece in range(pieces):
            run.steps(_PIECE, _STEP)
            watched.poll()
            if (piece + 1) % (pieces // 10) == 0:
                gc.collect()
                held.append(_resident())
    return {"steps": _STEPS, "held": held, "growth": float(np.ptp(held[2:]))}


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
