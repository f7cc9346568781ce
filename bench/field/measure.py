"""Runs a field program: recorded, bare, and with the expert's change; what is measured is kept and reused.

The three are made one directly after the other, since the machine is not always as fast. They are kept
below `.field/`, so that a change of the judgement needs no new runs, and made again when the program or the
recorder has changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.field.programs import EXPERT, ROOT, TWIN, Program
from unslow.proof import launch
from unslow.proof.launch import Started
from unslow.proof.run_folder import new_folder

KEPT = ROOT / ".field"
_LONGEST = 300.0  # seconds that a program may take
_RECORDER = ("facts", "record", "runfolder")


@dataclass(frozen=True)
class Ran:
    """One process that ran to its end."""

    seconds: float
    peak_bytes: int
    code: int
    cpu: float = 0.0  # seconds, of all its threads and children


@dataclass(frozen=True)
class Turn:
    """A recording, a bare run and one with the expert's change, made in direct turn."""

    folder: Path  # of the recording
    recorded: Ran
    bare: Ran
    twin: Ran | None  # None for a healthy program


@cache
def recorder_digest() -> str:
    """Of all that writes a recording."""
    whole = hashlib.sha256()
    for package in _RECORDER:
        for file in sorted((ROOT / "src" / "unslow" / package).rglob("*.py")):
            whole.update(file.read_bytes())
    return whole.hexdigest()[:16]


def patched_run(program: Program, diff: str) -> Ran:
    """The program without unslow, with a diff applied."""
    with tempfile.TemporaryDirectory() as place:
        folder = _copied(program, Path(place), twin=False)
        subprocess.run(["patch", "-p1", "-s"], cwd=folder, input=diff, text=True, check=True)
        return _run([sys.executable, *program.command], folder, program.environment)


def turn(program: Program) -> Turn:
    """The program recorded, bare, and with the expert's change; a recorder's version measures anew."""
    kept = KEPT / program.name / "turn.json"
    folder = KEPT / program.name / "run"
    digest = f"{program.digest}-{recorder_digest()}"
    found = known(kept, digest)
    if found is None or not folder.is_dir():
        runs = {"recorded": _recorded(program, folder), "bare": _bare(program, twin=False)}
        if program.twin:
            runs["twin"] = _bare(program, twin=True)
        found = {name: asdict(ran) for name, ran in runs.items()}
        keep(kept, digest, found)
    twin = Ran(**found["twin"]) if "twin" in found else None
    return Turn(folder, Ran(**found["recorded"]), Ran(**found["bare"]), twin)


def _recorded(program: Program, target: Path) -> Ran:
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "run"
        ran = record_into(program, Path(place), out)
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(out, target)
    return ran


def _bare(program: Program, twin: bool) -> Ran:
    with tempfile.TemporaryDirectory() as place:
        folder = _copied(program, Path(place), twin)
        return _run([sys.executable, *program.command], folder, program.environment)


def record_into(program: Program, place: Path, out: Path) -> Ran:
    """Record a copy of the program, made in an empty folder."""
    folder = _copied(program, place, twin=False)
    return _run([sys.executable, *program.command], folder, program.environment, out)


@contextmanager
def restored(program: Program, folder: Path) -> Iterator[None]:
    """The program where its recording says that it ran: a trial copies that folder."""
    place = Path(json.loads((folder / "run.json").read_text(encoding="utf-8"))["cwd"])
    if place.exists():
        yield
        return
    try:
        _copied(program, place.parent, twin=False)
        yield
    finally:
        shutil.rmtree(place.parent, ignore_errors=True)


def report(folder: Path) -> dict[str, Any]:
    """What unslow says about a recording, as its JSON."""
    words = [sys.executable, "-m", "unslow", "why", str(folder), "--format", "json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=_LONGEST, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        raise RuntimeError(f"unslow why failed: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _copied(program: Program, place: Path, twin: bool) -> Path:
    folder = place / "program"
    shutil.copytree(
        program.folder, folder, ignore=shutil.ignore_patterns(EXPERT, TWIN, "__pycache__")
    )
    if twin:
        patch = ["patch", "-p1", "-s", "-i", str(program.folder / TWIN)]
        subprocess.run(patch, cwd=folder, check=True)
    return folder


def _run(
    words: list[str], folder: Path, environment: Mapping[str, str], out: Path | None = None
) -> Ran:
    """Run to the end, recorded where there is a folder for it.

    `wait4` gives the peak memory and the CPU time of this very process and its children.
    """
    # Modules are kept compiled, as where unslow was installed: else 0.1 s more at each start.
    env = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "", **environment}
    started: Started | None = None
    with (folder.parent / "output.txt").open("wb") as output:
        began = time.monotonic()
        if out is None:
            process = subprocess.Popen(
                words, cwd=folder, env={**os.environ, **env}, stdout=output, stderr=output
            )
        else:
            place = new_folder(str(out), "")
            started = launch.start(words, place, env, cwd=folder, stdout=output, stderr=output)
            process = started.child
        limit = threading.Timer(_LONGEST, process.kill)
        limit.start()
        _, status, usage = os.wait4(process.pid, 0)
        limit.cancel()
    seconds = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if started is not None:
        started.ended(process.returncode)
    cpu = usage.ru_utime + usage.ru_stime
    return Ran(round(seconds, 3), usage.ru_maxrss * 1024, process.returncode, round(cpu, 3))


def known(path: Path, digest: str) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found["measured"] if found.get("digest") == digest else None


def keep(path: Path, digest: str, measured: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps({"digest": digest, "measured": measured}, indent=1), encoding="utf-8"
    )
