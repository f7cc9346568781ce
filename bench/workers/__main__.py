"""Runs real jobs with one fault each, and scores what unslow says about them: `make workers`.

Resumable: results.json keeps every job that was run; delete it to start again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.workers.cases import CASES, Case
from bench.workers.page import page
from unslow.analyse.run.assemble import load
from unslow.analyse.workers.assemble import job_of
from unslow.diagnose import diagnose

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "workers.md"
RESULTS = HERE / "results.json"
_JUDGED = ("straggler", "communication")
_TIME_LIMIT = 150  # seconds; a job that takes longer hangs


def planned(repeats: int) -> Iterator[tuple[Case, int, int]]:
    """All jobs, the first of every case before the second of any."""
    for repeat in range(repeats):
        for case in CASES:
            workers = case.workers[repeat % len(case.workers)]
            yield case, workers, repeat


def run_one(case: Case, workers: int) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="unslow-workers-"))
    faulty = workers - 1 if case.faulty is None else case.faulty
    began = time.monotonic()
    try:
        code = _launch(case, workers, faulty, folder / "run")
        found = judged(folder / "run")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "case": case.name,
        "workers": workers,
        "faulty": faulty,
        "exit": code,
        "seconds": round(time.monotonic() - began, 1),
        **found,
        **scored(case, faulty, found),
    }


def _launch(case: Case, workers: int, faulty: int, run: Path) -> int:
    start = [sys.executable, str(HERE / "start.py"), "--workers", str(workers)]
    if case.fault == "fetch":
        command = [*start, "--ps", "1", sys.executable, str(HERE / "train_ps.py"), "fetch"]
    else:
        if case.fault == "late":
            start += ["--late", str(faulty)]
        if case.fault == "core":
            start += ["--busy", str(faulty)]
        command = [*start, sys.executable, str(HERE / "train.py"), "--fault", case.fault]
        command += ["--worker", str(faulty), "--loop", case.loop, "--steps", str(case.steps)]
    recorded = [sys.executable, "-m", "unslow", "run", "--quiet", "--out", str(run), "--"]
    process = subprocess.Popen(
        [*recorded, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(timeout=_TIME_LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return -1


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
        "step": job.measured_step if job is not None else 0.0,
        "ideal": job.ideal_step if job is not None else 0.0,
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
    parser.add_argument("--seconds", type=float, default=1e9, help="start no job after this time")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    options = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    done = {(each["case"], each["repeat"]) for each in results}
    began = time.monotonic()
    for case, workers, repeat in planned(options.repeats):
        if (case.name, repeat) in done or options.only not in case.name:
            continue
        if time.monotonic() - began > options.seconds:
            break
        result = {"repeat": repeat, **run_one(case, workers)}
        results.append(result)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        PAGE.write_text(page(results))
        mark = "ok" if result["reason_right"] else "worker" if result["right"] else "WRONG"
        said = "; ".join(f"{one['title']}" for one in result["said"]) or "nothing"
        print(f"{mark:6} {case.name} x{workers} {result['seconds']} s: {said}", flush=True)


if __name__ == "__main__":
    main()
