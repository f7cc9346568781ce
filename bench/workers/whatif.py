"""Compares a job without its straggler, as the replay computes it, with steps without the fault.

python -m bench.workers.whatif [--repeats 2] [--kinds 3]

The fault comes and goes in one job, by turns of 25 steps of about 50 ms: a turn with it is
compared with the turns without it before and after it, so that a drift of the machine cancels.
"""

from __future__ import annotations

import argparse
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from bench.workers.cases import CASES, Case
from bench.workers.page import interval, keep, kept
from bench.workers.runs import HUNG, launched, split
from unslow.analyse.run.assemble import load
from unslow.analyse.workers.assemble import job_of
from unslow.analyse.workers.job import Job

NAME = "whatif"
WORKERS = 2  # as many as this machine has cores: two that share one disturb each other
BATCH = 1792  # rows: steps of about 50 ms on one core
TURN = 25  # steps
FAULTY_TURNS = 7  # with a turn without the fault before and after each
_BEGINNING = 3  # steps of a turn: a new iterator, a new trace
_CERTAINTY = 0.95

Turns = Mapping[int, float]  # by the number of the turn: mean seconds of a step


def epochs() -> list[tuple[int, bool]]:
    """The turns, without the fault first and last."""
    return [(TURN, turn % 2 == 1) for turn in range(2 * FAULTY_TURNS + 1)]


def kinds() -> list[Case]:
    """The faults that come and go."""
    return [case for case in CASES if case.sound and WORKERS in case.workers]


@dataclass(frozen=True)
class Compared:
    """A ratio less one, and how sure it is."""

    apart: float
    low: float
    high: float


def compared(ratios: Sequence[float]) -> Compared:
    """The geometric mean of some ratios with its interval, as of a t test of their logarithms."""
    logs = np.log(ratios)
    middle = float(logs.mean())
    error = float(stats.sem(logs)) if len(logs) > 1 else math.inf
    margin = float(stats.t.ppf((1 + _CERTAINTY) / 2, max(1, len(logs) - 1))) * error
    return Compared(*(math.expm1(each) for each in (middle, middle - margin, middle + margin)))


def beside(
    value: Callable[[int], float], turns: Sequence[int], other: Turns, gap: int
) -> list[float]:
    """Of each turn, its value against the mean of the turns `gap` before and after it."""
    return [2 * value(turn) / (other[turn - gap] + other[turn + gap]) for turn in turns]


def measured(job: Job) -> dict[str, Any]:
    """How far the replay is from what was measured, and two measurements of the same from each other."""
    step = np.nanmedian(job.wall, axis=0)
    turns = range(2 * FAULTY_TURNS + 1)
    walls = {turn: _mean(job, step, turn) for turn in turns}
    ideals = {turn: _mean(job, job.ideal, turn) for turn in turns}
    faulty, sound = turns[1::2], turns[::2]
    replay = compared(beside(ideals.__getitem__, faulty, walls, 1))
    noise = compared(beside(walls.__getitem__, sound[1:-1], walls, 2))
    return {
        "step": float(np.mean([walls[turn] for turn in faulty])),
        "ideal": float(np.mean([ideals[turn] for turn in faulty])),
        "sound": float(np.mean([walls[turn] for turn in sound])),
        "apart": vars(replay),
        "noise": vars(noise),
    }


def _mean(job: Job, values: np.ndarray, turn: int) -> float:
    """Seconds of a step of one turn."""
    first = TURN * turn
    inside = (job.step > first + _BEGINNING) & (job.step <= first + TURN) & job.judged
    return float(np.nanmean(values[inside]))


def run_all(cases: Sequence[tuple[Case, int]], keep: Path | None) -> Iterator[dict[str, Any]]:
    """Several jobs in one start."""
    folder = Path(tempfile.mkdtemp(prefix="unslow-whatif-"))
    try:
        asked = [_asked(case) for case, _ in cases]
        for (case, repeat), ran in zip(cases, launched(asked, folder), strict=False):
            if ran["exit"] == HUNG:
                print(f"out of time: {case.name} #{repeat}", flush=True)
                continue
            own = (keep or folder) / _recording(case, repeat)
            split(folder / "run", ran["pids"], own)
            yield {"case": case.name, "repeat": repeat, **judged(own)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def judged(folder: Path) -> dict[str, Any]:
    job = job_of(load(str(folder)))
    if job is None:
        raise SystemExit(f"{folder} holds no job")
    return measured(job)


def _asked(case: Case) -> dict[str, Any]:
    faulty = WORKERS - 1 if case.faulty is None else case.faulty
    named = {"fault": case.fault, "loop": case.loop, "workers": WORKERS, "faulty": faulty}
    return {**named, "epochs": epochs(), "batch": BATCH, "busy": 0}


def _recording(case: Case, repeat: int) -> str:
    return f"{case.name.replace(' ', '_')}-{repeat}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=3, help="in one start")
    parser.add_argument("--starts", type=int, default=1000, help="no more than these")
    parser.add_argument("--keep", type=Path, help="folder for the recordings")
    parser.add_argument("--again", action="store_true", help="judge the kept recordings only")
    options = parser.parse_args()
    results = kept(NAME)
    if options.again:
        by_name = {case.name: case for case in kinds()}
        for each in results:
            each |= judged(options.keep / _recording(by_name[each["case"]], each["repeat"]))
            _tell(each)
        keep(NAME, results)
        return
    done = {(each["case"], each["repeat"]) for each in results}
    planned = [(case, repeat) for repeat in range(options.repeats) for case in kinds()]
    missing = [(case, repeat) for case, repeat in planned if (case.name, repeat) not in done]
    for start in range(options.starts):
        together = missing[start * options.jobs : (start + 1) * options.jobs]
        for result in run_all(together, options.keep) if together else ():
            results.append(result)
            _tell(result)
            keep(NAME, results)


def _tell(result: Mapping[str, Any]) -> None:
    times = "  ".join(f"{1e3 * result[name]:6.1f}" for name in ("step", "ideal", "sound"))
    print(f"{result['case']:28} {times}  apart {interval(result['apart'])}", end="")
    print(f"  noise {interval(result['noise'])}", flush=True)


if __name__ == "__main__":
    main()
