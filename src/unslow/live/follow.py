"""Follows a run folder as it grows: each poll reads only what was added, in bounded memory."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from unslow.errors import reason_of
from unslow.facts.codec import Context
from unslow.facts.json_object import JsonObject
from unslow.facts.schema import Fact
from unslow.facts.table import FactTable
from unslow.live.rows import Rows
from unslow.model import Loop
from unslow.runfolder import layout as runfile
from unslow.syntax import Source

F = TypeVar("F", bound=Fact)

# Lines worth decoding: the process, its loops, its progress, its resources, and how it ended.
_KEPT = (
    "process",
    "imported",
    "machine",
    "site",
    "stack",
    "fit",
    "epoch",
    "probe",
    "end",
    "source",
    "dataset",
    "iterator",
    "worker",
)
_PROGRESS = ("fit", "epoch")
_TICK = b'{"k": "tick"'
_STARTS = tuple(f'{{"k": "{kind}"'.encode() for kind in (*_KEPT, "tick"))

_MOST_LINES = 2000  # per process: places and epochs of a run without end
_MOST_READ = 32 << 20  # bytes of one file in a poll; a run that was joined late takes several


@dataclass
class Growing:
    """A file that another process appends to, perhaps on another machine."""

    path: Path
    taken: int = 0
    rest: bytes = b""

    def more(self) -> bytes:
        """What was added since the last poll. A network folder shows its size only when opened."""
        try:
            with os.fdopen(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                file.seek(self.taken)  # a pipe raises here
                data = file.read(_MOST_READ)
        except OSError:  # a network folder that is away for a moment
            return b""
        self.taken += len(data)
        data = self.rest + data
        self.rest = b""
        return data


@dataclass
class Followed:
    """One process: its rows, the few lines that matter, and its readings of memory."""

    name: str
    steps_file: Growing
    events_file: Growing
    rows: Rows = field(default_factory=Rows)
    lines: list[JsonObject] = field(default_factory=list)
    last: int = 0  # the latest moment written, by its own clock
    rss: float = 0.0
    peak: float = 0.0
    ticked: tuple[int, int] = (0, 0)  # the last two readings
    fresh_ticks: list[JsonObject] = field(default_factory=list)  # those of the last poll
    loops: list[Loop] = field(default_factory=list)  # found when it had `loops_at` rows and lines
    loops_at: tuple[int, int] = (0, 0)
    sources: dict[str, Source | None] = field(default_factory=dict)  # the files read so far

    def of(self, kind: str) -> list[JsonObject]:
        return [line for line in self.lines if line["k"] == kind]

    def facts(self, kind: type[F]) -> tuple[F, ...]:
        """Typed facts; their time is that of the process's own clock, in seconds."""
        context = Context(process=0, start=0, shown=str)
        return FactTable((line, context) for line in self.of(kind.kind)).of(kind)

    def first(self, kind: str) -> JsonObject:
        return next((line for line in self.lines if line["k"] == kind), {})

    def source(self, file: str) -> Source | None:
        """A file of the user's as it was run; None where it was not kept, or is no Python."""
        if file in self.sources:
            return self.sources[file]
        digests = [line.get("digest") for line in self.of("source") if line.get("file") == file]
        if not digests:
            return None
        folder = str(self.events_file.path.parent)
        try:
            kept = runfile.read_inside(folder, runfile.SOURCES, f"{digests[0]}.py")
            self.sources[file] = Source(file, kept.decode("utf-8"))
        except (OSError, ValueError, SyntaxError, RecursionError):
            self.sources[file] = None
        return self.sources[file]

    @property
    def began(self) -> int:
        """When the process started, by its own clock."""
        moments = (self.first("imported").get("since"), self.first("process").get("t"))
        return next((moment for moment in moments if moment and runfile.is_clock(moment)), 0)

    @property
    def seconds(self) -> float:
        return max(0, self.last - self.began) / 1e9 if self.began else 0.0

    @property
    def how(self) -> str:
        """How it ended: "exit" or the exception; nothing while it runs."""
        return str(self.first("end").get("how", ""))

    @property
    def distance(self) -> float:
        """Seconds between its readings: they come further apart in long runs."""
        return (self.ticked[1] - self.ticked[0]) / 1e9 if self.ticked[0] else 0.0

    def poll(self) -> bool:
        """Take what was added; says whether there was anything."""
        self.fresh_ticks = []
        rows, lines = self.steps_file.more(), self.events_file.more()
        whole = self.rows.add(rows)
        self.steps_file.rest = rows[whole:]
        self.last = max(self.last, self.rows.last_end)
        complete, newline, self.events_file.rest = lines.rpartition(b"\n")
        for raw in complete.split(b"\n") if newline else ():
            if raw.startswith(_STARTS):
                self._take(raw)
        return bool(whole or newline)

    def _take(self, raw: bytes) -> None:
        try:
            line = json.loads(raw)
            kind, moment = line["k"], line["t"]
        except (ValueError, LookupError, TypeError, RecursionError):  # damaged: one fact less
            return
        if not runfile.is_clock(moment):
            return
        self.last = max(self.last, moment)
        if raw.startswith(_TICK):
            self.fresh_ticks.append(line)
            rss = line.get("rss")
            self.rss = float(rss) if rss and runfile.is_clock(rss) else self.rss
            self.peak = max(self.peak, self.rss)
            self.ticked = (self.ticked[1], moment)
        elif len(self.lines) < _MOST_LINES or kind in ("end", "site"):
            self.lines.append(line)
        elif kind in _PROGRESS:
            self._replace_oldest(line)

    def _replace_oldest(self, line: JsonObject) -> None:
        """The last lines about progress say how far it is, so that the oldest one may go."""
        for at, each in enumerate(self.lines):
            if each["k"] in (*_PROGRESS, "stack"):
                self.lines[at:] = [*self.lines[at + 1 :], line]
                return


class Follower:
    """A run folder that may still be written. Every poll is cheap, however long the run is."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.header: JsonObject = {}
        self.processes: dict[str, Followed] = {}

    @property
    def started(self) -> bool:
        return bool(self.header)

    @property
    def ended(self) -> str:
        """How the command ended, as its launcher wrote it; nothing before."""
        return str(self.header.get("ended") or "")

    def poll(self) -> bool:
        """Read what is new; returns whether there was any. May raise `runfile.Unreadable`."""
        if not self.header and self._empty():
            return False
        before = self.header
        try:
            self.header = runfile.read_header(str(self.folder))
            entries = sorted(self.folder.iterdir())
        except (runfile.Unreadable, OSError):
            if before:  # it was readable before: a network folder that is away for a moment
                return False
            raise
        for entry in entries:
            if entry.suffix in (".steps", ".events"):
                self._follow(entry)
        changed = [process.poll() for process in self.processes.values()]
        return any(changed) or self.header != before

    def _follow(self, entry: Path) -> None:
        if entry.stem not in self.processes:
            steps, events = (entry.with_suffix(suffix) for suffix in (".steps", ".events"))
            self.processes[entry.stem] = Followed(entry.stem, Growing(steps), Growing(events))

    def _empty(self) -> bool:
        """A folder that `unslow run` has just made: the run begins in a moment."""
        try:
            return all(
                entry.name.startswith(f".{runfile.HEADER}") for entry in self.folder.iterdir()
            )
        except OSError as problem:
            raise runfile.Unreadable(reason_of(problem)) from None

    @property
    def trained(self) -> list[Followed]:
        """Processes with steps, in the order of their names."""
        return [process for process in self.processes.values() if len(process.rows)]

    @property
    def bytes_taken(self) -> int:
        return sum(
            each.events_file.taken + each.steps_file.taken for each in self.processes.values()
        )
