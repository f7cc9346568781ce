"""The run folder: what the user's process writes and ours reads; standard library only, both sides.

    run.json              who ran what, where and how it ended (written by the launcher);
                          several launchers that record into one folder: see members.py
    <host>-<pid>.steps    fixed-width binary records, one per weight update, merged in long runs;
                          updates that differ in their times only are a record that says how many,
                          then their times
    <host>-<pid>.events   JSON lines: the header of the process, then its facts
    sources/<digest>.py   the user's files as they were run

Both logs are append-only, so that a torn tail costs one row or one line.
"""

from __future__ import annotations

import json
import os
import stat
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO

from unslow.facts.json_object import JsonObject
from unslow.facts.phase import Phase

VERSION = 2  # 1 had no records with times alone
OLDEST = 1  # that can still be read
HEADER = "run.json"
SOURCES = "sources"
# How a run ended that `unslow attach` recorded: the training went on, or it was over before.
RUNS_ON, ENDED_WHILE_ATTACHED = "running on", "ended while attached"
LOWEST_RATE = "lowest-rate"  # a file of this name asks the recorded processes for the lowest rate

# end, total, low, high (ns); steps in the row, site, updates in one step; elements in the batch,
# last scalar seen on the host (mostly the loss); then nanoseconds per phase.
#
# A record with no steps is the head of many calls: its end is where the first of their rows begins,
# its total is their number. Records with their times follow: when each began and ended (ns), in
# turn, then zeros.
_FIELDS = f"<qqqqIHHdd{len(Phase)}q"
ROW = struct.Struct(_FIELDS)
WORDS = ROW.size // 8  # times in a record
FIRST_PHASE = 9  # index of the first phase in an unpacked row


_LATEST = 1e11  # seconds since the epoch: the year 5138


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value < _LATEST


# What the launcher writes about a run, and what each value must be.
_HEADER: dict[str, Callable[[object], bool]] = {
    "command": lambda value: isinstance(value, list),
    "cwd": lambda value: isinstance(value, str),
    "started": _is_time,
    "seconds": _is_time,
    "ended": lambda value: value is None or isinstance(value, str),
    "launcher": lambda value: isinstance(value, int),
}


# Bytes of one file that are read. The logs of ten million steps take 3 MB, a million facts 200 MB.
_MOST_BYTES = 1 << 30


_STALLED = 500_000_000  # nanoseconds: no write takes so long unless the disk hangs


class Unreadable(Exception):
    """A run folder that cannot be read: why, and what to type next if that is known."""

    def __init__(self, why: str, next_step: str = "") -> None:
        super().__init__(why)
        self.next_step = next_step


class ProcessLog:
    """One process as it was written: bytes of rows, and lines of JSON that are not checked."""

    def __init__(self, name: str, rows: bytes = b"", lines: list[JsonObject] | None = None) -> None:
        self.name = name
        self.steps_path = ""  # where its rows are, unless they were given
        self._rows = rows
        self.lines = lines if lines is not None else []
        self.torn = False  # the end of a file was cut off
        self.damaged = 0  # lines that are no facts
        self.left_out: Counter[str] = Counter()  # lines beyond what is read, by kind

    @property
    def rows(self) -> bytes:
        """Whole rows. Read each time: those of a thousand processes are never held together."""
        if not self.steps_path:
            return self._rows
        try:
            with open(self.steps_path, "rb") as file:
                data = file.read()
        except OSError:
            return b""
        return data[: len(data) // ROW.size * ROW.size]


class Folder:
    """A run folder as it was written."""

    def __init__(self, path: str, header: JsonObject, logs: list[ProcessLog]) -> None:
        self.path = path
        self.header = header
        self.logs = logs


def write_header(folder: str, header: JsonObject) -> None:
    """Replace the header in one move, so that a reader never sees half of it."""
    draft = os.path.join(folder, f".{HEADER}.{os.getpid()}")
    try:
        with open(draft, "w", encoding="utf-8") as file:
            json.dump({"version": VERSION, **header}, file, indent=1)
        os.replace(draft, os.path.join(folder, HEADER))
    except OSError:  # the disk is full
        with suppress(OSError):
            os.unlink(draft)
        raise


def read_inside(folder: str, *names: str) -> bytes:
    """A file of a run folder; see `_opened_inside`."""
    with _opened_inside(folder, *names) as file:
        return file.read(_MOST_BYTES)


@contextmanager
def _opened_inside(folder: str, *names: str) -> Iterator[IO[bytes]]:
    """A file of a run folder. One that leads elsewhere, or that is no plain file, is an OSError:
    a folder from a stranger must not make us read other files, or wait for a pipe.
    """
    path = os.path.realpath(os.path.join(folder, *names))
    if not path.startswith(os.path.join(os.path.realpath(folder), "")):
        raise PermissionError(f"{os.path.join(*names)} leads out of the run folder")
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise PermissionError(f"{os.path.join(*names)} is no plain file")
        yield file


def read_header(folder: str) -> JsonObject:
    try:
        header = json.loads(read_inside(folder, HEADER))
    except FileNotFoundError:
        raise Unreadable("it has no run.json, so it is not a run folder") from None
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise Unreadable(f"its run.json cannot be read: {why}") from None
    except (ValueError, RecursionError):
        raise Unreadable("its run.json is cut off or is not JSON") from None
    if not isinstance(header, dict) or not isinstance(header.get("version"), int):
        raise Unreadable("its run.json was not written by unslow")
    _check_version(header)
    for name, is_valid in _HEADER.items():
        if name in header and not is_valid(header[name]):
            raise Unreadable(f"its run.json is damaged: `{name}` is {header[name]!r}")
    if "job" in header:
        header.update(_members(folder))
    return header


def _members(folder: str) -> JsonObject:
    """What the launchers of a job say: it has ended once all of them have."""
    from unslow.runfolder import members

    try:
        entries = members.read(folder)
    except OSError:
        return {}
    return {"members": entries, **members.ending(entries)}


def _check_version(header: JsonObject) -> None:
    version = header["version"]
    if OLDEST <= version <= VERSION:
        return
    command = header.get("command")
    words = [str(word) for word in command] if isinstance(command, list) else []
    raise Unreadable(
        f"unslow {header.get('unslow', 'of another version')} wrote it in format {version}, "
        f"and this version reads formats {OLDEST} to {VERSION}",
        f"Record it again: `unslow run {' '.join(words) or 'python train.py'}`.",
    )


def request_lowest_rate(folder: str) -> None:
    """Ask the processes that are recorded into a folder to go on at the lowest rate."""
    with open(os.path.join(folder, LOWEST_RATE), "w", encoding="utf-8"):
        pass


def read(folder: str) -> Folder:
    """Everything in a run folder; damage at the end of a log is marked, never raised."""
    from unslow.runfolder.eventlog import read_lines, share

    header = read_header(folder)
    logs: dict[str, ProcessLog] = {}
    entries = sorted(os.listdir(folder))
    most = share(sum(entry.endswith(".events") for entry in entries))
    for entry in entries:
        stem, extension = os.path.splitext(entry)
        if extension not in {".steps", ".events"}:
            continue
        log = logs.setdefault(stem, ProcessLog(stem))
        path = os.path.join(folder, entry)
        if os.path.islink(path) or not os.path.isfile(path):  # a stranger's folder
            log.torn = True
            continue
        if extension == ".steps":
            log.steps_path = path
            log.torn = log.torn or os.path.getsize(path) % ROW.size != 0
            continue
        with _opened_inside(folder, entry) as file:
            found = read_lines(file, path, most, _MOST_BYTES)
        log.lines, log.damaged, log.left_out = found.facts, found.damaged, found.left_out
        log.torn = log.torn or found.torn
    return Folder(folder, header, list(logs.values()))


def is_clock(value: object) -> bool:
    """Whether a value can be a moment of a process's clock, in nanoseconds."""
    return isinstance(value, int) and 0 <= value < 1 << 63


# A program may replace them in its modules, to count or to forbid what it does itself.
_open, _write, _close, _fstat, _clock = os.open, os.write, os.close, os.fstat, time.perf_counter_ns


class Writer:
    """Appends to the two logs of one process; after a failed write, `lost` says why it stopped."""

    def __init__(self, folder: str, name: str) -> None:
        self._paths = (
            os.path.join(folder, f"{name}.steps"),
            os.path.join(folder, f"{name}.events"),
        )
        self._files = [-1, -1]
        self._known: list[object] = [None, None]  # which file each descriptor is of
        self.lost = ""
        self.written = 0
        self._since = 0  # when the write that is under way began

    def rows(self, data: bytes) -> None:
        self._append(0, data)

    def lines(self, data: bytes) -> None:
        self._append(1, data)

    @property
    def stalled(self) -> bool:
        """Whether the disk has not answered for a while."""
        since = self._since  # another thread may be done this very moment
        return bool(since) and _clock() - since > _STALLED

    def _append(self, which: int, data: bytes) -> None:
        if self.lost:
            return
        self._since = _clock()
        try:
            if not self._is_open(which):
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
                self._files[which] = _open(self._paths[which], flags, 0o644)
                self._known[which] = _identity(self._files[which])
            written = _write(self._files[which], data)
            while written < len(data):  # a nearly full disk takes a part first
                written += _write(self._files[which], data[written:])
            self.written += len(data)
        except OSError as problem:
            self.lost = f"the run folder could not be written: {problem.strerror or problem}"
        finally:
            self._since = 0

    def _is_open(self, which: int) -> bool:
        """Whether a descriptor is still ours: a program may close all of them and use it again."""
        return self._files[which] >= 0 and _identity(self._files[which]) == self._known[which]

    def close(self) -> None:
        for which, file in enumerate(self._files):
            if self._is_open(which):
                _close(file)
        self._files = [-1, -1]


def _identity(file: int) -> tuple[int, int] | None:
    try:
        found = _fstat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino
