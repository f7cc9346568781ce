"""Simulated jobs of 16 to 1,000 workers with known faults: who is blamed, why, and at what cost.

python -m bench.workers_scale [--sizes 16,64] [--seeds 3] [--steps 2000]     scores many jobs
python -m bench.workers_scale --cost 1000 --steps 100000                     times one of them
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.results import folder_bytes, keep, run
from bench.workers_scale.simulate import Fault, Simulated, write
from unslow.analyse.run.assemble import load
from unslow.diagnose import diagnose
from unslow.model import Diagnosis

REASONS = ("input", "own Python", "longer batches", "machine", "garbage collection")
SIZES = "16,64,256,1000"
LEAST, MOST = 0.25, 1.0  # seconds that a fault adds, as a share of a healthy step of 0.1 s
STEP = 0.1
# Healthy jobs: plain, with a rare evaluation on the chief, and with clocks an hour apart.
HEALTHY: tuple[dict[str, Any], ...] = ({}, {"evaluates": 1000}, {"clocks": 3600.0})


@dataclass(frozen=True)
class Judged:
    """What a diagnosis said of a job whose fault is known."""

    job: Simulated
    blamed: tuple[str, ...]
    reasons: tuple[str, ...]

    @property
    def right_worker(self) -> bool:
        return self.blamed == (f"worker {self.job.fault.worker}",)

    @property
    def right_reason(self) -> bool:
        return self.right_worker and self.reasons == (self.job.fault.reason,)


def jobs(sizes: list[int], seeds: int, steps: int) -> Iterator[Simulated]:
    for size in sizes:
        for seed in range(seeds):
            for number, reason in enumerate(REASONS):
                yield faulty(size, steps, reason, seed * 100 + number + size)
            for number, more in enumerate(HEALTHY):
                yield Simulated(size, steps, seed=seed * 100 + 50 + number + size, **more)


def faulty(size: int, steps: int, reason: str, seed: int) -> Simulated:
    """A fault of random size in a random worker, from a random step on."""
    random = np.random.default_rng(seed)
    fault = Fault(
        reason,
        worker=int(random.integers(size)),
        since=int(random.integers(steps // 2)),
        extra=STEP * float(random.uniform(LEAST, MOST)),
    )
    return Simulated(size, steps, fault, seed)


def judged(job: Simulated, folder: Path) -> Judged:
    write(job, folder)
    return told(job, diagnose(load(str(folder)), with_fixes=False))


def told(job: Simulated, diagnosis: Diagnosis) -> Judged:
    found = [each for each in diagnosis.findings if each.cause in ("straggler", "communication")]
    evidence = [{one.label: str(one.value) for one in each.evidence} for each in found]
    blamed = tuple(each.get("worker", "the network").partition(" on ")[0] for each in evidence)
    return Judged(job, blamed, tuple(each.get("reason", "") for each in evidence))


def score(sizes: list[int], seeds: int, steps: int) -> list[dict[str, Any]]:
    rows = []
    for job in jobs(sizes, seeds, steps):
        with tempfile.TemporaryDirectory() as name:
            result = judged(job, Path(name) / "run")
        rows.append(_row(result))
        print(json.dumps(rows[-1]), flush=True)
    return rows


def _row(result: Judged) -> dict[str, Any]:
    job = result.job
    return {
        "workers": job.workers,
        "fault": job.fault.reason,
        "worker": job.fault.worker,
        "extra_seconds": round(job.fault.extra, 4),
        "blamed": list(result.blamed),
        "reasons": list(result.reasons),
        "right_worker": result.right_worker if job.fault.reason else not result.blamed,
        "right_reason": result.right_reason if job.fault.reason else not result.blamed,
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    broken = [row for row in rows if row["fault"]]
    healthy = [row for row in rows if not row["fault"]]
    return {
        "jobs": len(broken),
        "right_worker": sum(row["right_worker"] for row in broken),
        "right_reason": sum(row["right_reason"] for row in broken),
        "healthy": len(healthy),
        "false_alarms": sum(not row["right_worker"] for row in healthy),
    }


def cost(size: int, steps: int) -> dict[str, Any]:
    """`unslow why` on one job in a fresh process: seconds, processor seconds and memory."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        job = faulty(size, steps, "input", 1)
        write(job, place / "run")
        command = [sys.executable, "-m", "unslow", "why", "run", "--format", "json"]
        done = run([*command, "-o", "report.json"], place, limit=3600)
        if done.code:
            raise SystemExit(done.output)
        report = json.loads((place / "report.json").read_text())
        return {
            "workers": size,
            "steps": steps,
            "folder_bytes": folder_bytes(place / "run"),
            "seconds": done.seconds,
            "cpu": done.cpu,
            "peak": done.peak,
            "finding": report["findings"][0]["title"],
            "expected": f"worker {job.fault.worker}",
        }


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--sizes", default=SIZES)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--steps", type=int, default=2000)
    options.add_argument("--cost", default="", help="only time jobs of so many workers")
    chosen = options.parse_args()
    if chosen.cost:
        costs = [cost(int(size), chosen.steps) for size in chosen.cost.split(",")]
        keep("workers_cost", {"jobs": costs})
        print(json.dumps(costs, indent=1))
        return
    rows = score([int(size) for size in chosen.sizes.split(",")], chosen.seeds, chosen.steps)
    keep("workers_scale", {"steps": chosen.steps, **summary(rows), "rows": rows})
    print(json.dumps(summary(rows)))


if __name__ == "__main__":
    main()
