"""Kills recorded trainings at random moments; each is a fork of one process that has TensorFlow.

python -m bench.chaos.forked FOLDER SIGNAL SEED COUNT     prints a line of JSON for each training

Importing TensorFlow takes a hundred times as long as the rest of such a training.
"""

from __future__ import annotations

import json
import os
import random
import runpy
import signal
import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import tensorflow as tf  # noqa: F401 - for the forks

SCRIPT = Path(__file__).parent / "faulty.py"
AT_ONCE = 8
LONGEST = 2.5  # seconds of training before a kill, at most
_STARTS = 60.0  # seconds until a fork must train


@dataclass
class Fork:
    """A training in a process of its own, in a folder of its own."""

    place: Path
    pid: int
    moment: float  # seconds of training after which it is killed
    due: float = 0.0

    @property
    def steps(self) -> int:
        try:
            data = (self.place / "count").read_bytes()
        except OSError:
            return 0
        return int(struct.unpack("qq", data)[0]) if len(data) == 16 else 0


def begun(place: Path, moment: float) -> Fork:
    """Fork a recorded training, with the header that the launcher writes."""
    from unslow.proof.run_folder import write_header

    place.mkdir()
    (place / "recorded").mkdir()
    about = {"command": ["python", "train.py"], "cwd": str(place), "started": time.time()}
    write_header(str(place / "recorded"), {**about, "launcher": os.getpid()})
    pid = os.fork()
    if pid == 0:
        _train(place)
    return Fork(place, pid, moment)


def _train(place: Path) -> None:
    """Leaves as a program does: an exception that nobody catches ends it."""
    from unslow.record.engine.start import Recording

    os.chdir(place)
    output = os.open("output", os.O_CREAT | os.O_WRONLY)
    os.dup2(output, 1)
    os.dup2(output, 2)
    Recording(str(place / "recorded")).start()
    sys.argv = ["train.py", str(10**6)]
    runpy.run_path(str(SCRIPT), run_name="__main__")
    sys.exit(0)


def killed(forks: list[Fork], number: int) -> list[int]:
    """Kill each when its time has come; how each of them ended."""
    began = time.monotonic()
    waiting = list(forks)
    while waiting:
        now = time.monotonic()
        for fork in list(waiting):
            if not fork.due and fork.steps >= 4:
                fork.due = now + fork.moment
            overdue = now - began > _STARTS
            if overdue or (fork.due and now >= fork.due):
                os.kill(fork.pid, number)
                waiting.remove(fork)
        time.sleep(0.005)
    return [os.waitstatus_to_exitcode(os.waitpid(fork.pid, 0)[1]) for fork in forks]


def ended(fork: Fork, code: int) -> dict[str, object]:
    """Finish a run as the launcher does."""
    from unslow.proof.launch import ended_with, ending
    from unslow.proof.run_folder import write_header
    from unslow.runfolder.layout import read_header

    folder = str(fork.place / "recorded")
    how = ended_with(code, fork.moment)
    write_header(folder, {**read_header(folder), **ending(how)})
    output = (fork.place / "output").read_text(errors="replace")[-300:]
    return {"folder": folder, "code": code, "steps": fork.steps, "output": output}


def main(place: Path, number: int, seed: int, count: int) -> None:
    chance = random.Random(f"{number} {seed}")
    for first in range(0, count, AT_ONCE):
        some = range(first, min(count, first + AT_ONCE))
        forks = [begun(place / str(each), chance.uniform(0.0, LONGEST)) for each in some]
        for fork, code in zip(forks, killed(forks, number), strict=True):
            print(json.dumps({"moment": fork.moment, **ended(fork, code)}), flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
