"""Feeds one reader with hostile input, in a process of its own with limits of time and memory.

python -m bench.chaos.fuzz READER SEED COUNT     prints what broke, as JSON
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import resource
import signal
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path

from bench.chaos.readers import READERS
from unslow.errors import UnslowError

SECONDS = 20.0  # of processor time for one input; the whole batch has a limit of real time
BYTES = 4 << 30  # of address space: NumPy and its threads take 1.5 GB of it
_SHOWN = 5  # different failures of one batch


class TooSlow(BaseException):
    """Not an Exception: a fence must not take it for a failure of a cause."""


def main(name: str, seed: int, count: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    signal.signal(signal.SIGPROF, _too_slow)
    reader = READERS[name]()
    failures: Counter[str] = Counter()
    refused = 0
    with tempfile.TemporaryDirectory(prefix="unslow-fuzz-") as scratch:
        os.chdir(scratch)
        for number in range(count):
            chance = random.Random(f"{name} {seed} {number}")
            given = reader.make(chance, Path(scratch))
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            try:
                with contextlib.redirect_stderr(io.StringIO()):
                    reader.read(given)
            except UnslowError:
                refused += 1
            except (Exception, TooSlow, SystemExit) as problem:  # noqa: BLE001 - what we look for
                failures[_place(problem, number)] += 1
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
    broke = [f"{text} ({times} times)" for text, times in failures.most_common(_SHOWN)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(json.dumps({"tries": count, "refused": refused, "broke": broke, "peak_mb": peak}))


def _too_slow(number: int, frame: object) -> None:
    raise TooSlow(f"more than {SECONDS:.0f} s")


_seen: dict[str, str] = {}


def _place(problem: BaseException, number: int) -> str:
    """A failure by its kind and our innermost line, with the first input that gave it."""
    frames = traceback.extract_tb(problem.__traceback__)
    ours = [frame for frame in frames if "/unslow/" in frame.filename] or frames
    where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
    key = f"{type(problem).__name__} at {where}"
    text = f"{key}: {str(problem)[:120]}, first with input {number}"
    return _seen.setdefault(key, text)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
