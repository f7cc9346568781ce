"""Runs real jobs with one fault each, and scores what unslow says about them: `make workers`.

Resumable: results.json keeps every job that was run; delete it to start again.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.workers.cases import BATCH, CASES, Case
from bench.workers.page import keep, kept
from bench.workers.runs import HUNG, launched, split
from unslow.analyse.run.assemble import load
from unslow.analyse.workers.assemble import job_of
from unslow.diagnose import diagnose

NAME = "results"
_JUDGED = ("straggler", "communication")
_MORE_SOUND = 3  # jobs of each case: 40 in all, and 16 beside a busy program


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
        epochs = [(case.steps, True), (case.sound, False)] if case.sound else [(case.steps, True)]
        named = {"fault": case.fault, "loop": case.loop, "steps": case.steps, "epochs": epochs}
        named |= {"workers": self.workers, "faulty": self.faulty, "batch": BATCH}
        return {**named, "busy": case.busy}


def planned(repeats: int) -> Iterator[Job]:
    """All jobs, the first of every case before the second of any; more of the sound ones."""
    for repeat in range(repeats + _MORE_SOUND):
        for case in CASES:
            if repeat < repeats or case.is_healthy:
                yield Job(case, case.workers[repeat % len(case.workers)], repeat)


def run_all(jobs: Sequence[Job], keep: Path | None) -> Iterator[dict[str, Any]]:
    """Several jobs in one start, each judged from the recordings of its own processes."""
    folder = Path(tempfile.mkdtemp(prefix="unslow-workers-"))
    try:
        for job, ran in zip(jobs, launched([job.asked for job in jobs], folder), strict=False):
            if ran["exit"] == HUNG:  # it is run again another time
                print(f"out of time: {job.case.name} x{job.workers} #{job.repeat}", flush=True)
                continue
            own = (keep or folder) / recording(job.case, job.repeat)
            split(folder / "run", ran["pids"], own)
            found = judged(own)
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


def recording(case: Case, repeat: int) -> str:
    """The name of a kept recording."""
    letters = [letter if letter.isalnum() else "_" for letter in case.name]
    return f"{''.join(letters)}-{repeat}"


def judged_again(result: dict[str, Any], keep: Path) -> dict[str, Any]:
    """A result as today's causes give it, where its recording was kept."""
    case = next((case for case in CASES if case.name == result["case"]), None)
    if case is None or not (keep / recording(case, result["repeat"])).is_dir():
        return result
    found = judged(keep / recording(case, result["repeat"]))
    return {**result, **found, **scored(case, result["faulty"], found)}


def judged(folder: Path) -> dict[str, Any]:
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
        "own_cost": diagnosis.own_seconds,
    }


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
    parser.add_argument("--part", default="1/1", help="2/8: the second of eight parts of all")
    parser.add_argument("--keep", type=Path, help="folder for the recordings")
    parser.add_argument("--again", action="store_true", help="judge the kept recordings only")
    options = parser.parse_args()
    results = kept(NAME)
    if options.again:
        results = [judged_again(each, options.keep) for each in results]
        for each in results:
            _tell(each)
        keep(NAME, results)
        return
    done = {(each["case"], each["repeat"]) for each in results}
    part, parts = map(int, options.part.split("/"))
    mine = list(planned(options.repeats))[part - 1 :: parts]
    missing = [job for job in mine if (job.case.name, job.repeat) not in done]
    chosen = [job for job in missing if options.only in job.case.name]
    for start in range(options.starts):
        together = chosen[start * options.jobs : (start + 1) * options.jobs]
        for result in run_all(together, options.keep) if together else ():
            _tell(result)
            keep(NAME, [*kept(NAME), result])  # of another part as well


def _tell(result: dict[str, Any]) -> None:
    mark = "ok" if result["reason_right"] else "worker" if result["right"] else "WRONG"
    said = "; ".join(f"{one['title']}" for one in result["said"]) or "nothing"
    about = f"{result['case']} x{result['workers']} #{result['repeat']}"
    print(f"{mark:6} {about} {result['seconds']} s: {said}", flush=True)


if __name__ == "__main__":
    main()
