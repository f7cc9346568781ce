"""Hostile input: every reader, by bytes and by structure, with fixed seeds and limits."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial

from bench.chaos.kept import ROOT, Attack, Result
from bench.chaos.processes import environment

# Inputs of each reader: many where one takes microseconds, fewer where it takes a tenth of a
# second. 100,000 in all is what the suite promises.
COUNTS = {
    "lines of facts": 60_000,
    "rows of steps": 20_000,
    "headers and the list of runs": 10_000,
    "profiles": 4_000,
    "source given to check": 3_000,
    "settings files": 2_000,
    "patches given to prove": 1_000,
    "reports in five formats": 500,
    "reports full of payloads": 250,
    "the live view": 400,
    "four exports": 150,
    "comparisons": 150,
    "source given to fix": 300,
}
_SEED = 25
_TIMEOUT = 1500.0  # seconds for all inputs of a reader


def attacks() -> list[Attack]:
    return [Attack(name, partial(fuzz, name, _SEED, count)) for name, count in COUNTS.items()]


def fuzz(name: str, seed: int, count: int, timeout: float = _TIMEOUT) -> Result:
    """One reader in a process of its own: a crash of the interpreter is a failure like others."""
    command = [sys.executable, "-m", "bench.chaos.fuzz", name, str(seed), str(count)]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment({"PYTHONPATH": str(ROOT)}),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Result(count, broke=(f"not done after {timeout:.0f} s",))
    if done.returncode:
        return Result(count, broke=(f"it died with {done.returncode}: {done.stderr[-300:]}",))
    found = json.loads(done.stdout.splitlines()[-1])
    note = f"{found['refused']:,} refused with a clear error, at most {found['peak_mb']:,} MB"
    return Result(count, "", tuple(found["broke"]), note)
