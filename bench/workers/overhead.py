"""What recording costs each worker of a job: one job of two workers, with recording on and off in turn.

python -m bench.workers.overhead [--pairs 60]

Both workers switch in the same steps, in random order within a pair of blocks; see bench/blocks.py,
which measures programs of one process in the same way.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from bench.results import ratio  # noqa: E402
from bench.workers import page  # noqa: E402

WORKERS = 2  # as many as this machine has cores
_WARM_UP = 30  # steps
_TIME_LIMIT = 600.0  # seconds


@dataclass(frozen=True)
class Size:
    """How long a step is, and how many of them make a block."""

    batch: int  # rows
    steps: int
    settled: int  # steps after a switch that are not timed: Python has to learn methods again


SIZES = {"about 50 ms": Size(1792, 8, 3), "about 8 ms": Size(64, 40, 20)}


def worker(index: int, size: Size, pairs: int) -> None:
    """One process of the job; the recording begins before TensorFlow is imported, as `run` does it."""
    from unslow.record.engine.start import Recording

    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[index]})
    with tempfile.TemporaryDirectory() as folder:
        recording = Recording(folder)
        recording.start()
        from bench.blocks import Switch, budget, per_step
        from bench.workers import train

        train.settings()
        step = train.Training("none", False, "compiled", size.batch).step()
        for _ in range(_WARM_UP):
            step()
        switch, chance = Switch(recording), random.Random(0)  # the same in all workers
        began = budget(recording)
        sides: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
        for _ in range(pairs):
            for on in chance.sample((True, False), 2):
                switch.turn(on)
                sides[on].append(_timed(step, size))
        switch.turn(True)
        spent = per_step(began, budget(recording))
        lost = [name for name, state in recording.recorder.probes.items() if "lost" in state]
        recording.end()
    said = {"on": sides[True], "off": sides[False], "spent": spent, "lost": lost}
    print("\n" + json.dumps(said))


def _timed(step: Callable[[], object], size: Size) -> tuple[float, float]:
    """Seconds and processor seconds of a step. All are made by one line, as a training's are."""
    began, worked = 0.0, 0.0
    for number in range(size.settled + size.steps):
        if number == size.settled:
            began, worked = time.perf_counter(), time.process_time()
        step()
    spent, work = time.perf_counter() - began, time.process_time() - worked
    return spent / size.steps, work / size.steps


def measured(name: str, pairs: int) -> dict[str, Any]:
    """A job of one size: per worker, medians and ratios with their intervals."""
    from bench.workers.start import cluster_of

    cluster = cluster_of([("worker", index) for index in range(WORKERS)])
    processes = [_started(cluster, index, name, pairs) for index in range(WORKERS)]
    steps = SIZES[name].steps
    found: dict[str, Any] = {"size": name, "pairs": pairs, "steps": steps, "workers": []}
    for process in processes:
        output, errors = process.communicate(timeout=_TIME_LIMIT)
        if process.returncode:
            raise SystemExit(errors[-2000:])
        found["workers"].append(_of_worker(json.loads(output.splitlines()[-1])))
    return found


def _started(
    cluster: dict[str, list[str]], index: int, name: str, pairs: int
) -> subprocess.Popen[str]:
    task = {"cluster": cluster, "task": {"type": "worker", "index": index}}
    return subprocess.Popen(
        [sys.executable, __file__, "--worker", str(index), "--size", name, "--pairs", str(pairs)],
        env={**os.environ, "TF_CONFIG": json.dumps(task)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _of_worker(said: dict[str, Any]) -> dict[str, Any]:
    on, off = ([pair[0] for pair in said[side]] for side in ("on", "off"))
    on_cpu, off_cpu = ([pair[1] for pair in said[side]] for side in ("on", "off"))
    return {
        "step": sorted(off)[len(off) // 2],
        "wall": ratio(on, off, paired=True),
        "cpu": ratio(on_cpu, off_cpu, paired=True),
        "spent": said["spent"],
        "lost": said["lost"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=80)
    parser.add_argument("--size", choices=SIZES)
    parser.add_argument("--worker", type=int, help="be this worker, and print JSON")
    options = parser.parse_args()
    if options.worker is not None:
        worker(options.worker, SIZES[options.size], options.pairs)
        return
    found = [measured(name, options.pairs) for name in SIZES]
    for each in found:
        print(json.dumps(each))
    page.keep("overhead", found)


if __name__ == "__main__":
    main()
