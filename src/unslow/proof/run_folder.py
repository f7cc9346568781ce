"""The folder of a run as its launcher makes it, and the header in it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import unslow
from unslow.errors import UnslowError, reason_of
from unslow.runfolder import layout as runfile

RUNS = ".unslow"

# Variables kept with a run: enough to run it again, nothing that could be a secret.
_KEPT = (
    "TF_",
    "KERAS_",
    "XLA_",
    "OMP_",
    "KMP_",
    "MKL_",
    "CUDA_",
    "MALLOC_",
    "PYTHONHASHSEED",
    "PYTHONPATH",
)


def new_folder(out: str | None, name: str, runs: str = RUNS) -> str:
    """A folder for a run: `<runs>/<time>-<name>` unless another place was named."""
    folder = Path(out) if out else _unused(Path(runs), name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UnslowError(
            f"cannot record into {folder}",
            "it is not empty" if folder.is_dir() else "it is a file",
            "Name another folder with --out.",
            "folder-in-use",
        )
    folder.mkdir(parents=True, exist_ok=True)
    if not out:
        _keep_out_of_version_control(Path(runs))
    return str(folder.resolve())


def _unused(runs: Path, name: str) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", Path(name).stem) or "run"
    names = (f"{stamp}-{stem}{ending}" for ending in ("", *(f"-{n}" for n in range(2, 1000))))
    return next(runs / each for each in names if not (runs / each).exists())


def _keep_out_of_version_control(runs: Path) -> None:
    """Recordings hold sources and paths of one machine: git must ignore their folder."""
    try:
        with (runs / ".gitignore").open("x", encoding="utf-8") as file:
            file.write("*\n")
    except OSError:
        return  # it is there already, or the folder is read-only


def header(command: Sequence[str], env: Mapping[str, str], cwd: str = "") -> dict[str, object]:
    """What is known about a run before it begins."""
    return {
        "unslow": unslow.__version__,
        "command": list(command),
        "cwd": cwd or str(Path.cwd()),
        "stdin": _stdin(),
        "environment": {key: value for key, value in env.items() if key.startswith(_KEPT)},
        "started": time.time(),
        "clock": time.perf_counter_ns(),
        "launcher": os.getpid(),
        "host": socket.gethostname(),
        "commit": _commit(cwd or None),
    }


def _commit(cwd: str | None) -> str:
    """The commit that is checked out here: runs of many weeks are compared by it."""
    try:
        found = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=cwd, capture_output=True, timeout=2, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.decode("ascii", "replace").strip() if found.returncode == 0 else ""


def cannot_start(program: str, folder: str, problem: OSError) -> UnslowError:
    """A command that could not be started leaves no run behind."""
    _forget(Path(folder))
    return UnslowError(
        f"cannot run {program}",
        reason_of(problem),
        "Is the command spelled as you would type it without unslow?",
        "no-command",
    )


def write_header(folder: str, about: dict[str, object]) -> None:
    try:
        runfile.write_header(folder, about)
    except OSError:
        return  # the training runs all the same; the report then says what is missing


def _forget(folder: Path) -> None:
    """A command that never started leaves no run behind."""
    try:
        (folder / runfile.HEADER).unlink(missing_ok=True)
        folder.rmdir()
    except OSError:
        return  # something else is in it: it is not ours to delete


def _stdin() -> str:
    """Where the command's input comes from, if it can be had again: a file's path, or nothing."""
    try:
        path = str(Path("/proc/self/fd/0").readlink())
    except OSError:
        return ""
    return path if Path(path).is_file() else ""
