"""A recording of any length without TensorFlow: the real recorder, steps, watcher and writer, under a clock of its own.

python bench/synthetic.py FOLDER STEPS [WORKERS]    writes a run folder and prints what it took as JSON
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench.results import peak_of  # noqa: E402

STEP = 1_000_000  # nanoseconds of a step: ten million of them are a training of three hours
WAKE = 100  # steps between two looks of the watcher: a tenth of a second, as often as it writes
NOISE = 4096  # step times that are drawn once and used in turn


class Clock:
    """Nanoseconds that pass only when a step says so."""

    def __init__(self) -> None:
        self.now = 1_000_000_000

    def __call__(self) -> int:
        return self.now


class Training:
    """One process of a training, recorded: its steps take as long as the clock says."""

    def __init__(self, folder: str, clock: Clock, worker: int | None = None) -> None:
        from unslow.record.engine.probe import span
        from unslow.record.engine.start import Recording
        from unslow.runfolder.layout import Writer

        self.clock = clock
        self.recording = Recording(folder)
        self.recorder, self.steps, self.watcher = (
            self.recording.recorder,
            self.recording.steps,
            self.recording.watcher,
        )
        if worker is not None:
            self.recorder.writer = Writer(folder, f"worker-{worker:04d}")
            os.environ["TF_CONFIG"] = json.dumps({"task": {"type": "worker", "index": worker}})
        self.watcher.start = lambda: None  # type: ignore[method-assign]
        self.recording.begin(SimpleNamespace(__version__="2.21.0"))  # type: ignore[arg-type]
        self.watcher._thread = threading.get_ident()
        chance = random.Random(worker or 0)
        self.times = [int(STEP * chance.lognormvariate(0, 0.1)) for _ in range(NOISE)]
        self.run = span(self.recorder, self._pass, 3)

    def _pass(self, nanoseconds: int) -> None:
        self.clock.now += nanoseconds

    def train(self, steps: int, wake: Callable[[], None]) -> None:
        lane, ended, run, times = self.recorder.local.lane, self.steps.ended, self.run, self.times
        frame = sys._getframe()
        for number in range(steps):
            took = times[number % NOISE]
            self.clock.now += took >> 3
            run(took)
            lane.elements = 32.0
            lane.value = 1.0 / (1.0 + number)
            ended(lane, "function", self, "step", frame)
            if not number % WAKE:
                wake()

    def end(self) -> None:
        self.watcher._thread = 0
        self.recording.end()


class Waker:
    """The watcher's thread, kept in step with the training, so that a recording is the same each time."""

    def __init__(self, training: Training) -> None:
        self._training = training
        self._go, self._done, self._over = threading.Semaphore(0), threading.Semaphore(0), False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        watcher = self._training.watcher
        watcher._thread = threading.get_ident()
        while True:
            self._go.acquire()
            if self._over:
                return
            watcher._due += 1.0
            watcher._wake()
            self._done.release()

    def __call__(self) -> None:
        self._go.release()
        self._done.acquire()

    def stop(self) -> None:
        self._over = True
        self._go.release()
        self._thread.join()


def resident() -> int:
    with Path("/proc/self/statm").open("rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def write(folder: str, steps: int, workers: int) -> dict[str, Any]:
    """Record `workers` processes of `steps` steps into one folder, and say what that took in real time."""
    real, clock = time.perf_counter, Clock()
    before = resident()
    time.perf_counter_ns = clock
    from unslow.runfolder import layout as runfile

    command = [sys.executable, "train.py"]
    runfile.write_header(
        folder,
        {
            "unslow": "0.1.0",
            "command": command,
            "cwd": str(Path.cwd()),
            "started": 1.7e9,
            "launcher": 0,
        },
    )
    began, rows, sizes = real(), 0.0, []
    for worker in range(workers):
        training = Training(folder, clock, worker if workers > 1 else None)
        waker = Waker(training)
        sizes.append(resident())
        at = real()
        training.train(steps, waker)
        rows += real() - at
        sizes.append(resident())
        waker.stop()
        training.end()
    runfile.write_header(
        folder,
        {
            "unslow": "0.1.0",
            "command": command,
            "cwd": str(Path.cwd()),
            "started": 1.7e9,
            "ended": "exit 0",
            "code": 0,
            "seconds": clock.now / 1e9,
        },
    )
    return {
        "seconds": real() - began,
        "steps_seconds": rows,
        "resident_before": before,
        "resident_armed": sizes[0],
        "resident_after": sizes[-1],
        "peak": peak_of("self"),
        "folder_bytes": sum(
            file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()
        ),
    }


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    print(
        json.dumps(
            write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
        )
    )
