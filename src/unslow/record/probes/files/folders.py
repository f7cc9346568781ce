"""The folders that a training writes to: how much is in each, measured ever more rarely."""

from __future__ import annotations

import os

from unslow.facts.files import Folder
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.recorder import Recorder, clock
from unslow.record.engine.steps import Steps

LONGEST = 20_000_000  # nanoseconds that measuring may take at one tick of the watcher (judgement)
_MOST = 20
_FIRST = 500_000_000  # nanoseconds until the folders are measured for the first time
_SPACING = 1.2  # each time comes at this multiple of the last: 80 times in a week


class Folders:
    def __init__(self, recorder: Recorder, steps: Steps) -> None:
        self._recorder = recorder
        self._steps = steps
        self._known: dict[str, str] = {}  # what each holds
        self._began = clock()
        self._next = _FIRST

    def fills(self, folder: Foreign, kind: str) -> str:
        """A folder that the training writes to, to be measured from now on."""
        try:
            path = os.fspath(folder)
            if not isinstance(path, str) or "://" in path:
                return str(path)
            path = os.path.abspath(path)
        except Exception:  # noqa: BLE001 - a tensor, a path of the program's own kind, no directory
            return ""
        if path not in self._known and len(self._known) < _MOST:
            if not self._known:
                self._began = clock()
            self._known[path] = kind
        return path

    def measure_if_due(self) -> None:
        """On the watcher's thread: how much is in each folder, and how much more the disk takes."""
        now = clock()
        if now - self._began < self._next or not self._known:
            return
        self._next = int((now - self._began) * _SPACING)
        self._measure(now + LONGEST)

    def measure_at_end(self) -> None:
        self._measure(clock() + 5 * LONGEST)

    def _measure(self, until: int) -> None:
        for path, kind in list(self._known.items()):
            size, files, whole = filled(path, until)
            if files and whole:
                disk = os.statvfs(path)
                self._recorder.emit(
                    Folder(
                        key=path,
                        folder=path,
                        holds=kind,
                        bytes=size,
                        files=files,
                        step=self._steps.total,
                        free=disk.f_bavail * disk.f_frsize,
                    )
                )


def filled(folder: str, until: int) -> tuple[int, int, bool]:
    """Bytes and number of the files below a folder; whether all were counted in time."""
    size = files = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.lstat(os.path.join(place, name)).st_size
                files += 1
            except OSError:  # gone in between
                continue
        if clock() > until:
            return size, files, False
    return size, files, True
