"""Runs real jobs with one fault each, and scores what unslow says about them: `make workers`.

Resumable: results.json keeps every job that was run; delete it to start again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.workers.cases import CASES, Case
from bench.workers.page import page
from unslow.analyse.run.assemble import load
from unslow.analyse.workers.assemble import job_of
from unslow.analyse.workers.job import Job as WorkerJob
from unslow.diagnose import diagnose

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "workers.md"
RESULTS = HERE / "results.json"
_JUDGED = ("straggler", "communication")
_MORE_SOUND = 3  # jobs of each case: 40 in all
_UNMEASURED = {"step": 0.0, "ideal": 0.0, "sound": 0.0}
_HUNG = -1  # what start.py says of a job that had to be killed
_BEGINNING = 3  # steps after the fault ended: a new iterator, a new trace
_UNCOUNTED = 8  # updates of a second loop before the recorder counts them as steps


@dataclass(frozen=True)
class Job:
    """One job of the campaign."""

    case: Case
    workers: int
    repeat: int

    @property
    def faulty(self) -> int:
        return self.workers - 1 if self.case.faulty is None else self.case.faulty

    @property
    def asked(self) -> dict[str, Any]:
        """As start.py reads it."""
        case = self.case
        named = {"fault": case.fault, "loop": case.loop, "steps": case.steps, "sound": case.sound}
        return {**named, "workers": self.workers, "faulty": self.faulty}


def planned(repeats: int) -> Iterator[Job]:
    """All jobs, the first of every case before the second of any; more of the five sound ones."""
    for repeat in range(repeats + _MORE_SOUND):
        for case in CASES:
            if repeat < repeats or case.is_healthy:
                yield Job(case, case.workers[repeat % len(case.workers)], repeat)


def run_all(jobs: Sequence[Job], keep: Path | None) -> Iterator[dict[str, Any]]:
    """Several jobs in one start, each judged from the recordings of its own processes."""
    folder = Path(tempfile.mkdtemp(prefix="unslow-workers-"))
    try:
        for job, ran in zip(jobs, _launched(jobs, folder), strict=False):
            if ran["exit"] == _HUNG:  # it is run again another time
                print(f"out of time: {job.case.name} x{job.workers} #{job.repeat}", flush=True)
                continue
            own = (keep or folder) / recording(job.case, job.repeat)
            split(folder / "run", ran["pids"], own)
            found = judged(own, job.case)
            yield {
                "case": job.case.name,
                "repeat": job.repeat,
                "workers": job.workers,
                "faulty": job.faulty,
                "exit": ran["exit"],
                "seconds": ran["seconds"],
                **found,
                **scored(job.case, job.faulty, found),
            }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _launched(jobs: Sequence[Job], folder: Path) -> list[dict[str, Any]]:
    asked, answered = folder / "jobs.json", folder / "pids.json"
    asked.write_text(json.dumps([job.asked for job in jobs]))
    recorded = [sys.executable, "-m", "unslow", "run", "--quiet", "--out", str(folder / "run")]
    command = [sys.executable, str(HERE / "start.py"), str(asked), str(answered)]
    done = subprocess.run([*recorded, "--", *command], capture_output=True, text=True, check=False)
    if not answered.exists():
        raise SystemExit(f"no job ended: {done.stderr[-2000:]}")
    ran: list[dict[str, Any]] = json.loads(answered.read_text())
    return ran


def split(run: Path, pids: Sequence[int], own: Path) -> None:
    """The recordings of some processes as a run of their own."""
    shutil.rmtree(own, ignore_errors=True)
    strangers = [
        path.name
        for path in run.iterdir()
        if path.suffix in (".events", ".steps") and int(path.stem.rpartition("-")[2]) not in pids
    ]
    shutil.copytree(run, own, ignore=lambda _, names: [n for n in names if n in strangers])


def recording(case: Case, repeat: int) -> str:
    """The name of a kept recording."""
    letters = [letter if letter.isalnum() else "_" for letter in case.name]
    return f"{''.join(letters)}-{repeat}"


def judged_again(result: dict[str, Any], keep: Path) -> dict[str, Any]:
    """A result as today's causes give it, where its recording was kept."""
    case = next((case for case in CASES if case.name == result["case"]), None)
    if case is None or not (keep / recording(case, result["repeat"])).is_dir():
        return result
    found = judged(keep / recording(case, result["repeat"]), case)
    return {**result, **found, **scored(case, result["faulty"], found)}


def judged(folder: Path, case: Case) -> dict[str, Any]:
    """What unslow says about a recorded job."""
    run = load(str(folder))
    diagnosis = diagnose(run, with_fixes=False)
    job = job_of(run)
    findings = [finding for finding in diagnosis.findings if finding.fault]
    said = [_said(finding) for finding in findings if finding.cause in _JUDGED]
    return {
        "said": said,
        "others": [finding.cause for finding in findings if finding.cause not in _JUDGED],
        "steps": job.steps if job is not None else 0,
        **(measured(job, case) if job is not None and job.judged.any() else _UNMEASURED),
        "own_cost": diagnosis.own_seconds,
    }


def measured(job: WorkerJob, case: Case) -> dict[str, float]:
    """Mean seconds of a step with the fault, of its replay, and of those after the fault ended."""
    step = np.nanmedian(job.wall, axis=0)
    has_sound = case.sound > 0 and job.steps >= case.steps + case.sound - _UNCOUNTED
    faulty = job.judged & (job.step <= case.steps) if has_sound else job.judged
    after = job.judged & (job.step > case.steps + _BEGINNING)
    return {
        "step": _mean(step[faulty]),
        "ideal": _mean(job.ideal[faulty]),
        "sound": _mean(step[after]) if has_sound else 0.0,
    }


def _mean(values: np.ndarray) -> float:
    return float(np.nanmean(values)) if len(values) else 0.0


def _said(finding: Any) -> dict[str, Any]:
    shown = {evidence.label: evidence.value for evidence in finding.evidence}
    return {
        "cause": finding.cause,
        "title": finding.title,
        "reason": shown.get("reason", ""),
        "worker": str(shown.get("worker", "")),
        "location": str(finding.location or ""),
    }


def scored(case: Case, faulty: int, found: dict[str, Any]) -> dict[str, bool]:
    """Whether the right worker and reason were named first, and nothing was said of a sound job."""
    said = found["said"]
    if case.is_healthy:
        return {"right": not said, "reason_right": not said}
    first = said[0] if said else {"cause": "", "reason": "", "worker": ""}
    is_cause = first["cause"] == case.cause
    is_worker = case.cause != "straggler" or first["worker"].startswith(f"worker {faulty} ")
    right = is_cause and is_worker
    return {"right": right, "reason_right": right and first["reason"] in case.reasons}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=8, help="that share one start")
    parser.add_argument("--starts", type=int, default=1000, help="no more than these")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--keep", type=Path, help="folder for the recordings")
    parser.add_argument("--again", action="store_true", help="judge the kept recordings only")
    options = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    if options.again:
        results = [judged_again(each, options.keep) for each in results]
        for each in results:
            _tell(each)
        _write(results)
        return
    done = {(each["case"], each["repeat"]) for each in results}
    missing = [job for job in planned(options.repeats) if (job.case.name, job.repeat) not in done]
    chosen = [job for job in missing if options.only in job.case.name]
    for start in range(options.starts):
        together = chosen[start * options.jobs : (start + 1) * options.jobs]
        for result in run_all(together, options.keep) if together else ():
            results.append(result)
            _tell(result)
            _write(results)


def _write(results: list[dict[str, Any]]) -> None:
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(page(results))


def _tell(result: dict[str, Any]) -> None:
    mark = "ok" if result["reason_right"] else "worker" if result["right"] else "WRONG"
    said = "; ".join(f"{one['title']}" for one in result["said"]) or "nothing"
    about = f"{result['case']} x{result['workers']} #{result['repeat']}"
    print(f"{mark:6} {about} {result['seconds']} s: {said}", flush=True)


if __name__ == "__main__":
    main()
