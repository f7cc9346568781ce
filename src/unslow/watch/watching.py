"""The loop around all runs that are watched: finds them, polls each, and rests in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from unslow.errors import UnslowError
from unslow.runfolder import layout
from unslow.watch import sentences
from unslow.watch.alert import Alert, Matter
from unslow.watch.disks import Disks
from unslow.watch.slowdown import SHARE
from unslow.watch.targets import Target
from unslow.watch.watched import Clocks, WatchedRun

SHORTEST, LONGEST = 2.0, 15.0  # seconds between polls
_SHARE_OF_CORE = 0.01  # that looking may take
_FIND_EVERY = 10.0  # seconds between two searches for new runs
_DISKS_EVERY = 15.0
_FORGOTTEN = 3600.0  # seconds without a byte: the run was killed before we came


@dataclass
class Watching:
    """All runs of a target. `notice` gets what is no alert: a run that cannot be read."""

    target: Target
    notice: Callable[[str], None]
    share: float = SHARE
    clocks: Clocks = field(default_factory=Clocks)
    runs: dict[Path, WatchedRun] = field(default_factory=dict)
    died: bool = False

    def __post_init__(self) -> None:
        self._disks = Disks()
        self._waiting: list[Alert] = []
        self._passed: set[Path] = set()  # runs that had ended before, or cannot be read
        self._found_at = self._disks_at = -1e9

    @property
    def over(self) -> bool:
        """Whether nothing is left to watch. In a folder of runs new ones may always appear."""
        return not self.target.many and not self.runs

    def look_at_first(self) -> None:
        """Find the runs; a run that cannot be watched is an error now."""
        self._find()
        if not self.target.many and not (self.target.folder / layout.HEADER).exists():
            return  # it begins in a moment
        for run in list(self.runs.values()):
            self._waiting += self._look_at(run)

    def poll(self) -> list[Alert]:
        self._find()
        alerts, self._waiting = self._waiting, []
        for run in list(self.runs.values()):
            alerts += self._look_at(run)
        self.died = self.died or any(alert.matter is Matter.DIED for alert in alerts)
        alerts += self._look_at_disks()
        for folder, run in list(self.runs.items()):
            if run.over:
                del self.runs[folder]
                self._passed.add(folder)
        return alerts

    def rest(self, cost: float) -> float:
        """Seconds to wait after a poll that took this much processor time."""
        return min(LONGEST, max(SHORTEST, cost / _SHARE_OF_CORE))

    def _find(self) -> None:
        now = self.clocks.monotonic()
        if now - self._found_at < _FIND_EVERY:
            return
        self._found_at = now
        for folder in self.target.runs():
            if folder in self.runs or folder in self._passed:
                continue
            run = WatchedRun(folder, self.share, self.clocks)
            if self.target.many and _ended_before(folder):
                self._passed.add(folder)
            else:
                self.runs[folder] = run

    def _look_at(self, run: WatchedRun) -> list[Alert]:
        try:
            return run.poll()
        except layout.Unreadable as problem:
            if not self.target.many:
                raise UnslowError(
                    f"cannot watch {run.folder}",
                    str(problem),
                    problem.next_step or "Type `unslow runs` to see the runs there are.",
                    "bad-run-folder",
                ) from None
            self.notice(f"{run.name} cannot be watched: {problem}")
            self._passed.add(run.folder)
            del self.runs[run.folder]
            return []

    def _look_at_disks(self) -> Iterator[Alert]:
        now = self.clocks.monotonic()
        if now - self._disks_at < _DISKS_EVERY:
            return
        self._disks_at = now
        for run in self.runs.values():
            for folder in {run.folder, Path(str(run.follower.header.get("cwd") or run.folder))}:
                full = self._disks.poll(folder, now)
                if full is not None:
                    text = sentences.disk(full, str(folder))
                    numbers = {"left": full.left, "rate": full.rate, "room": full.room}
                    wall = self.clocks.wall()
                    yield Alert(Matter.DISK, run.name, str(run.folder), text, wall, None, numbers)


def _ended_before(folder: Path) -> bool:
    """Whether a run among many is history: it ended, or nothing of it is left to watch."""
    try:
        header = layout.read_header(str(folder))
    except layout.Unreadable:
        return False  # reported when it is polled
    if header.get("ended"):
        return True
    logs = [each.stat().st_mtime for each in folder.iterdir()]
    return time.time() - max(logs, default=0.0) > _FORGOTTEN
