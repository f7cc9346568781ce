"""Starts jobs under `unslow run`, several in one start, and gives each a run folder of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HUNG = -1  # what start.py says of a job that had to be killed


def launched(jobs: Sequence[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """Each job's processes and exit code; `jobs` as start.py reads them."""
    asked, answered = folder / "jobs.json", folder / "pids.json"
    asked.write_text(json.dumps(jobs))
    recorded = [sys.executable, "-m", "unslow", "run", "--quiet", "--out", str(folder / "run")]
    command = [sys.executable, str(Path(__file__).with_name("start.py")), str(asked), str(answered)]
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
