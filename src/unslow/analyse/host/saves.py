"""Checkpoints of a loop by the line that writes them, and the folders that its files go to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unslow.analyse import wording as say
from unslow.model import Event, Location, Loop, Run


@dataclass(frozen=True)
class Saves:
    """All checkpoints that one line wrote while a loop ran."""

    where: Location  # the user's line that saves, or that made the callback that does
    call: str  # Checkpoint.save, CheckpointManager, Saver, Model.save, ModelCheckpoint, …
    count: int
    seconds: float
    bytes: float  # of the last one; 0 where it was not written yet
    folder: str
    stack: tuple[Location, ...]
    made: Location | None  # where the saver or the callback was made
    data: Mapping[str, Any]  # of the last one

    @property
    def each(self) -> float:
        return self.seconds / max(1, self.count)


_BY_KERAS = ("ModelCheckpoint", "BackupAndRestore")


def saves_of(run: Run, loop: Loop) -> list[Saves]:
    """The dearest line first."""
    groups: dict[str, list[Event]] = defaultdict(list)
    for event in run.of("save"):
        if loop.holds(event):
            groups[str(event.data["key"])].append(event)
    return sorted(
        (_saves(run, events) for events in groups.values()), key=lambda found: -found.seconds
    )


def _saves(run: Run, events: list[Event]) -> Saves:
    first, last = events[0].data, events[-1].data
    stack = tuple(say.place(run, place) for place in last["stack"])
    made = say.place(run, last["made"][0]) if last.get("made") else None
    where = made if made and last["call"] in _BY_KERAS else stack[0] if stack else None
    return Saves(
        where=where or Location("", 0),
        call=str(last["call"]),
        count=int(last["n"]) - int(first["n"]) + 1,
        seconds=float(last["sum"]) - float(first["sum"]) + float(first["took"]),
        bytes=float(last.get("bytes") or 0),
        folder=str(last.get("folder", "")),
        stack=stack,
        made=made,
        data=last,
    )


@dataclass(frozen=True)
class Folder:
    """How a folder filled up while a loop ran."""

    path: str
    kind: str  # checkpoints, summaries or profiles
    bytes: float  # in it at the last look
    files: int
    rate: float  # bytes per step, 0 where it did not grow to the end
    new_files: int
    free: float  # bytes that the disk still takes
    gained: float


_LOOKS = 4


def folders_of(run: Run, loop: Loop) -> list[Folder]:
    """Folders that grew with the steps, the fastest first."""
    groups: dict[str, list[Event]] = defaultdict(list)
    for event in run.of("folder"):
        if event.process == loop.process and event.time >= loop.start:
            groups[str(event.data["folder"])].append(event)
    found = [_folder(events) for events in groups.values() if len(events) >= _LOOKS]
    return sorted(found, key=lambda folder: -folder.rate)


def _folder(events: list[Event]) -> Folder:
    first, middle, last = (events[at].data for at in (0, len(events) // 2, -1))
    whole, late = _rate(first, last), _rate(middle, last)
    return Folder(
        path=str(last["folder"]),
        kind=str(last["holds"]),
        bytes=float(last["bytes"]),
        files=int(last["files"]),
        rate=whole if whole > 0 and late >= 0.5 * whole else 0.0,
        new_files=int(last["files"]) - int(first["files"]),
        free=float(last["free"]),
        gained=float(last["bytes"]) - float(first["bytes"]),
    )


def _rate(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    steps = int(other["step"]) - int(one["step"])
    return (float(other["bytes"]) - float(one["bytes"])) / steps if steps > 0 else 0.0
