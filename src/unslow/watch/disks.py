"""The disks that runs write to: when one is full, or will be. Each disk is reported once."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from unslow.watch.filling import Filling, Full

_NOTHING_LEFT = 8 << 20  # bytes: a checkpoint does not fit any more
_LEAST_RISE = 1e-3  # of the bytes in use: disks hold more than one run can write


@dataclass
class _Disk:
    filling: Filling = field(default_factory=lambda: Filling(least=_LEAST_RISE))
    reported: bool = False
    full: Full | None = None


def is_full(folder: Path) -> bool:
    """Whether nothing more can be written there, steps included."""
    try:
        space = os.statvfs(folder)
    except OSError:
        return False
    return space.f_bavail * space.f_frsize < _NOTHING_LEFT


@dataclass
class Disks:
    """Disks by their device number."""

    _disks: dict[int, _Disk] = field(default_factory=dict)

    def poll(self, folder: Path, now: float) -> Full | None:
        """Read the disk of a folder; what there is to report, once. `now` in seconds."""
        try:
            device = folder.stat().st_dev
            space = os.statvfs(folder)
        except OSError:  # a network folder that is away for a moment
            return None
        disk = self._disks.setdefault(device, _Disk())
        free = float(space.f_bavail * space.f_frsize)
        disk.filling.add(now, float(space.f_blocks * space.f_frsize) - free)
        disk.full = Full(0.0, 0.0, free) if free < _NOTHING_LEFT else disk.filling.forecast(free)
        if disk.full is None or disk.reported:
            return None
        disk.reported = True
        return disk.full
