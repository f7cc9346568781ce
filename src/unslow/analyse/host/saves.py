"""Checkpoints of a loop by the line that writes them, and the folders that its files go to."""

from __future__ import annotations

from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.grouping import grouped
from unslow.analyse.places import shown
from unslow.analyse.stats.robust import ratio
from unslow.facts.files import Folder, Save
from unslow.model import Location, Loop, Run

_BY_KERAS = ("ModelCheckpoint", "BackupAndRestore")
_MEASUREMENTS = 4  # of a folder, at least: fewer do not show that it grows to the end
_STEADY = 0.5  # of its mean rate, in the second half: a slower folder has stopped growing


@dataclass(frozen=True)
class Saves:
    """All checkpoints that one line wrote while a loop ran."""

    where: Location  # the user's line that saves, or that made the callback that does
    count: int
    seconds: float
    stack: tuple[Location, ...]
    made: Location | None  # where the saver or the callback was made
    last: Save

    @property
    def each(self) -> float:
        return self.seconds / max(1, self.count)


def saves_of(run: Run, loop: Loop) -> list[Saves]:
    """The most expensive line first."""
    by_line = grouped(run.facts_during(loop, Save), lambda save: save.key)
    found = [_saves(run, saves[0], saves[-1]) for saves in by_line.values()]
    return sorted(found, key=lambda saves: -saves.seconds)


def _saves(run: Run, first: Save, last: Save) -> Saves:
    stack = tuple(say.place(run, place) for place in last.stack)
    made = shown(run, last.made)
    where = next(iter(stack), Location("", 0))
    if made is not None and last.call in _BY_KERAS:
        where = made
    return Saves(
        where=where,
        count=last.n - first.n + 1,
        seconds=last.sum - first.sum + first.took,
        stack=stack,
        made=made,
        last=last,
    )


@dataclass(frozen=True)
class FolderGrowth:
    """How a folder filled up while a loop ran."""

    last: Folder
    rate: float  # bytes per step, 0 where it did not grow to the end
    new_files: int
    gained: float  # bytes


def folder_growth(run: Run, loop: Loop) -> list[FolderGrowth]:
    """Folders that were measured several times, the fastest-growing first."""
    measured = [folder for folder in run.facts(Folder, loop.process) if folder.time >= loop.start]
    by_path = grouped(measured, lambda folder: folder.folder)
    found = [_growth(seen) for seen in by_path.values() if len(seen) >= _MEASUREMENTS]
    return sorted(found, key=lambda folder: -folder.rate)


def _growth(seen: list[Folder]) -> FolderGrowth:
    first, middle, last = seen[0], seen[len(seen) // 2], seen[-1]
    rate = _rate(first, last)
    grows = rate > 0 and _rate(middle, last) >= _STEADY * rate
    return FolderGrowth(
        last=last,
        rate=rate if grows else 0.0,
        new_files=last.files - first.files,
        gained=last.bytes - first.bytes,
    )


def _rate(early: Folder, late: Folder) -> float:
    return ratio(late.bytes - early.bytes, late.step - early.step)
