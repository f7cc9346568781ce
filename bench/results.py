"""What was measured, kept in bench/results.json: each part writes its own section and leaves the others alone."""

from __future__ import annotations

import json
import os
import platform
import random
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench.loops import STYLES

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "bench" / "results.json"
RESAMPLED = 2000
FEWEST = 5  # runs of each side below which resampling would promise more than they can tell
_LOOK = 0.01  # seconds between looks at a child: late by half of that on average


@dataclass(frozen=True)
class Done:
    """How a process ended: its exit code (None: it was stopped for taking too long), and what it took."""

    code: int | None
    seconds: float
    cpu: float  # seconds of processor, with its children
    peak: int  # bytes that were resident at most, without its children
    output: str


def read() -> dict[str, Any]:
    return dict(json.loads(KEPT.read_text(encoding="utf-8"))) if KEPT.exists() else {}


def keep(section: str, data: Mapping[str, Any]) -> None:
    """Replace one section, with the machine and the day it was measured on."""
    whole = {**read(), section: {"measured": machine(), **data}}
    draft = KEPT.with_suffix(".draft")
    draft.write_text(json.dumps(dict(sorted(whole.items())), indent=1) + "\n", encoding="utf-8")
    draft.replace(KEPT)


def keep_styles(section: str, rows: Mapping[str, Mapping[str, Any]], **data: Any) -> None:
    """Replace the rows of some styles, each with the commit that it was measured at; the others stay."""
    known = read().get(section, {}).get("styles", {}) | {
        name: {**row, "commit": commit()} for name, row in rows.items()
    }
    keep(section, {**data, "styles": {name: known[name] for name in STYLES if name in known}})


def machine() -> dict[str, Any]:
    names = [
        line
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return {
        "day": time.strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "processor": names[0].partition(": ")[2] if names else platform.machine(),
        "load": round(os.getloadavg()[0], 1),
        "tensorflow": _version("tensorflow-cpu") or _version("tensorflow"),
        "keras": _version("keras"),
        "commit": commit(),
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def commit() -> str:
    """What was measured: the commit, with a mark where the tool's own code has been changed since."""
    try:
        said = [
            subprocess.run(
                ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True
            ).stdout.strip()
            for words in (("rev-parse", "--short", "HEAD"), ("status", "--porcelain", "src/unslow"))
        ]
    except (OSError, subprocess.CalledProcessError):
        return ""
    return said[0] + ("+" if said[1] else "")


def environment(**extra: str) -> dict[str, str]:
    """As a user has it: modules are compiled once, and unslow is found where it lies."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**env, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT / "src"), **extra}


def run(command: list[str], place: Path, limit: float = 120.0, **extra: str) -> Done:
    """Run a command in a group of its own; one that hangs is stopped with all that it started."""
    log = place / ".output"
    began = time.perf_counter()
    with log.open("wb") as file:
        child = subprocess.Popen(
            command,
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
            env=environment(**extra),
        )
    code, cpu, peak = _wait(child.pid, began + limit)
    seconds = time.perf_counter() - began
    child.returncode = code if code is not None else -9
    output = log.read_text(encoding="utf-8", errors="replace")
    log.unlink()
    return Done(code, seconds, cpu, peak, output)


def _wait(pid: int, until: float) -> tuple[int | None, float, int]:
    stopped, peak = False, 0
    while True:
        # Not getrusage's: a child's begins with what its parent had when it was started.
        peak = max(peak, peak_of(pid))
        found, status, usage = os.wait4(pid, os.WNOHANG)
        if found:
            code = None if stopped else os.waitstatus_to_exitcode(status)
            return code, usage.ru_utime + usage.ru_stime, peak
        if not stopped and time.perf_counter() > until:
            stopped = True
            os.killpg(pid, 9)
        time.sleep(_LOOK)


def peak_of(pid: int | str) -> int:
    """The most bytes that were resident in a process so far."""
    try:
        with Path(f"/proc/{pid}/status").open("rb") as file:
            return next(
                (int(line.split()[1]) * 1024 for line in file if line.startswith(b"VmHWM")), 0
            )
    except OSError:
        return 0


def folder_bytes(folder: Path) -> int:
    return sum(
        file.stat().st_size
        for file in folder.rglob("*")
        if file.is_file() and not file.is_symlink()
    )


Interval = tuple[
    float, float | None, float | None
]  # the ends are None where there were too few runs to tell


def ratio(over: list[float], under: list[float], paired: bool = False) -> Interval:
    """The ratio of two medians (paired: the median of the ratios) with its 95 % interval by resampling."""
    chance = random.Random(0)
    if min(len(over), len(under)) < FEWEST:
        return median(over) / median(under), None, None
    if paired:
        each = [above / below for above, below in zip(over, under, strict=True)]
        drawn = sorted(median(chance.choices(each, k=len(each))) for _ in range(RESAMPLED))
        middle = median(each)
    else:
        drawn = sorted(
            median(chance.choices(over, k=len(over))) / median(chance.choices(under, k=len(under)))
            for _ in range(RESAMPLED)
        )
        middle = median(over) / median(under)
    return middle, drawn[int(0.025 * RESAMPLED)], drawn[int(0.975 * RESAMPLED)]


def beside(
    mine: Sequence[float | None], theirs: Sequence[float | None]
) -> tuple[list[float], list[float]]:
    """What two tools took in the same rounds: from one round to the next the machine's pace changes most."""
    both = [(a, b) for a, b in zip(mine, theirs, strict=False) if a is not None and b is not None]
    return [a for a, _ in both], [b for _, b in both]


def difference(over: list[float], under: list[float]) -> Interval:
    """The difference of two medians with its 95 % interval by resampling."""
    chance = random.Random(0)
    if min(len(over), len(under)) < FEWEST:
        return median(over) - median(under), None, None
    drawn = sorted(
        median(chance.choices(over, k=len(over))) - median(chance.choices(under, k=len(under)))
        for _ in range(RESAMPLED)
    )
    return (
        median(over) - median(under),
        drawn[int(0.025 * RESAMPLED)],
        drawn[int(0.975 * RESAMPLED)],
    )


def median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


if str(ROOT / "src") not in sys.path:
    sys.path.insert(0, str(ROOT / "src"))
