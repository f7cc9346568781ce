"""The process to attach to: whether it can be recorded, checked before anything is done to it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from unslow.errors import UnslowError

_PROC = Path("/proc")
_RECORD = "Record it from the start: unslow run train.py"
_ELF_64_BIT = 2  # the fifth byte of an executable; see elf(5)
_PYTHON = re.compile(r"python(3\.\d+)?$|libpython3\.\d+")
_ENDED, _STOPPED = "ZX", "Tt"  # states of a process; see proc(5)


@dataclass(frozen=True)
class Target:
    """A running Python process that uses TensorFlow."""

    pid: int
    command: tuple[str, ...]
    cwd: str
    python: tuple[int, int] | None  # its version, where the loaded files tell


@dataclass(frozen=True)
class _Seen:
    """What the system says about a process."""

    state: str  # a letter; see proc(5)
    files: frozenset[str]  # that are mapped into its memory
    is_64_bit: bool
    recorded_into: str  # the run folder of `unslow run`; nothing where it is not recorded
    command: tuple[str, ...]
    cwd: str


def target_of(pid: int) -> Target:
    """The process with this number, or an error that says why it cannot be recorded."""
    folder = _PROC / str(pid)
    if not folder.is_dir():
        raise _refused(pid, "there is no such process", "Type `ps` to see the processes there are.")
    try:
        seen = _seen(folder)
    except PermissionError:
        raise _unreadable(pid, folder) from None
    except OSError:
        raise _refused(pid, "it ended just now", "Attach to a process that runs.") from None
    refusal = _no_python(seen) or _no_training(pid, seen)
    if refusal is not None:
        raise _refused(pid, *refusal)
    return Target(pid, seen.command, seen.cwd, _version(seen.files))


def _seen(folder: Path) -> _Seen:
    maps = (folder / "maps").read_text(errors="replace")
    state = _state(folder)
    if state in _ENDED:  # such a process has no working directory
        return _Seen(state, frozenset(), True, "", (), "")
    return _Seen(
        state=state,
        files=frozenset(row.split(maxsplit=5)[5] for row in maps.splitlines() if "/" in row),
        is_64_bit=_is_64_bit(folder),
        recorded_into=_recorded_into(folder),
        command=_command(folder),
        cwd=str((folder / "cwd").readlink()),
    )


def _no_python(seen: _Seen) -> tuple[str, str] | None:
    """Why no code can be run in it, and what to do instead."""
    if seen.state in _ENDED:
        return "it has ended", "Attach to a process that runs."
    if not any(_is_python(file) for file in seen.files):
        return "it is not a Python process", "Give the process that runs Python."
    if not seen.is_64_bit:
        return "it is a 32-bit Python", "There is no TensorFlow for it to run."
    if not any("/ld-" in file or "/libc" in file for file in seen.files):
        return "its Python is linked statically, and cannot load any code", _RECORD
    return None


def _no_training(pid: int, seen: _Seen) -> tuple[str, str] | None:
    """Why there is nothing to record in a Python process, and what to do instead."""
    into = seen.recorded_into
    if into:
        why = f"it is being recorded by `unslow run` into {into}"
        return why, f"Follow that recording: unslow live {into}"
    if not _uses_tensorflow(seen.files):
        return "it has not loaded TensorFlow", f"Attach once it trains. {_RECORD}"
    if seen.state in _STOPPED:
        return "it is stopped", f"Let it go on first: kill -CONT {pid}"
    return None


def has_ended(pid: int) -> bool:
    """Whether a process has ended; a zombie has, though its number is still taken."""
    try:
        return _state(_PROC / str(pid)) in _ENDED
    except OSError:
        return True


def find(name: str) -> Target:
    """The one TensorFlow process whose command line holds a word that ends in this name."""
    found = [target for target in _targets() if _matches(target, name)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UnslowError(
            f"no process {name}",
            "no running Python process that uses TensorFlow has it in its command line",
            "Give the number of the process: unslow attach PID",
            "attach",
        )
    listed = "; ".join(f"{target.pid}: {' '.join(target.command)}" for target in found)
    raise UnslowError(
        f"several processes match {name}",
        listed,
        "Give the number of one of them: unslow attach PID",
        "attach",
    )


def _targets() -> Iterator[Target]:
    for folder in _PROC.iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            try:
                yield target_of(int(folder.name))
            except (UnslowError, OSError):
                continue


def _matches(target: Target, name: str) -> bool:
    return any(word == name or word.endswith(f"/{name}") for word in target.command)


def _refused(pid: int, why: str, instead: str) -> UnslowError:
    return UnslowError(f"cannot attach to process {pid}", why, instead, "attach")


def _unreadable(pid: int, folder: Path) -> UnslowError:
    if folder.stat().st_uid == os.geteuid():
        why, instead = "it has more rights than this shell", "Attach as root, from its container."
    else:
        why, instead = "it belongs to another user", "Attach as the user who runs it, or as root."
    return _refused(pid, why, instead)


def _state(folder: Path) -> str:
    return (folder / "stat").read_text().rpartition(")")[2].split()[0]


def _recorded_into(folder: Path) -> str:
    """The run folder of `unslow run`, which its processes know by this variable."""
    for entry in (folder / "environ").read_bytes().split(b"\0"):
        name, _, value = entry.partition(b"=")
        if name == b"UNSLOW_RUN":
            return os.fsdecode(value)
    return ""


def _is_64_bit(folder: Path) -> bool:
    try:
        with (folder / "exe").open("rb") as executable:
            return executable.read(5)[4:] == bytes([_ELF_64_BIT])
    except FileNotFoundError:  # a process of the kernel, or its file was replaced
        return True


def _command(folder: Path) -> tuple[str, ...]:
    words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    return tuple(word for word in words if word)


def _is_python(file: str) -> bool:
    return bool(_PYTHON.search(Path(file).name.partition(".so")[0]))


def _uses_tensorflow(files: frozenset[str]) -> bool:
    return any("tensorflow" in file for file in files)


def _version(files: frozenset[str]) -> tuple[int, int] | None:
    for file in files:
        found = re.search(r"python(\d)\.(\d+)", file)
        if found:
            return int(found[1]), int(found[2])
    return None
