"""The control groups of this process, of either version: the memory and processor they allow."""

from __future__ import annotations

import os

from unslow.record.engine.procfs import read

_NO_LIMIT = 1 << 60  # version 1 writes a huge number where there is no limit


class Groups:
    """A limit may be set for the group itself or for any above it: the tightest one counts."""

    def __init__(self, root: str = "/sys/fs/cgroup", own: str = "/proc/self/cgroup") -> None:
        paths = _paths(own)
        memory, cpu = _folders(root, "memory", paths), _folders(root, "cpu", paths)
        # Without any limit, the use of its own group still matters: the first of the folders.
        self._memory = min(filter(_limit, memory), key=_limit, default=next(iter(memory), ""))
        self._cpu = min(filter(_quota, cpu), key=_quota, default=next(iter(cpu), ""))
        self.limit = _limit(self._memory)
        self.quota = _quota(self._cpu)

    def used(self) -> dict[str, float]:
        """Bytes in use where the limit is, and the seconds for which the processor was withheld."""
        current = _number(self._memory, "memory.current", "memory.usage_in_bytes")
        found = {"group_bytes": float(current)} if current else {}
        for row in read(os.path.join(self._cpu, "cpu.stat")).splitlines():
            key, _, value = row.partition(" ")
            if key in ("throttled_usec", "throttled_time") and value.isdigit():
                found["throttled"] = int(value) / (1e6 if key == "throttled_usec" else 1e9)
        return found

    def stalled(self) -> dict[str, float]:
        """Seconds for which some task waited for memory or a disk, in the group or the machine."""
        found = {}
        for what in ("memory", "io"):
            text = read(os.path.join(self._memory, f"{what}.pressure"), f"/proc/pressure/{what}")
            total = text.partition("\n")[0].rpartition("total=")[2]
            if total.isdigit():
                found[f"{what}_stall"] = int(total) / 1e6
        return found


def _paths(own: str) -> dict[str, str]:
    """Where the process is, by controller; "" is version 2: all controllers in one tree."""
    rows = (line.split(":", 2) for line in read(own).splitlines())
    return {name: row[2] for row in rows if len(row) == 3 for name in row[1].split(",")}


def _folders(root: str, controller: str, paths: dict[str, str]) -> list[str]:
    """Its group and the visible ones above it: a container sees its own as the root."""
    base = os.path.join(root, controller)
    path = paths.get(controller)
    if path is None or not os.path.isdir(base):
        base, path = root, paths.get("", "/")
    parts = [part for part in path.split("/") if part]
    inner = [os.path.join(base, *parts[:depth]) for depth in range(len(parts), -1, -1)]
    return [folder for folder in inner if os.path.isdir(folder)]


def _number(folder: str, *names: str) -> int:
    text = read(*(os.path.join(folder, name) for name in names)).strip()
    return int(text) if text.isdigit() else 0


def _limit(folder: str) -> int:
    """Bytes; 0 where there is no limit."""
    most = _number(folder, "memory.max", "memory.limit_in_bytes")
    return most if most < _NO_LIMIT else 0


def _quota(folder: str) -> float:
    """Cores; 0 where there is no quota."""
    fields = read(os.path.join(folder, "cpu.max")).split()
    if len(fields) == 2 and fields[0].isdigit():
        return int(fields[0]) / int(fields[1])
    period = _number(folder, "cpu.cfs_period_us")
    return _number(folder, "cpu.cfs_quota_us") / period if period else 0.0
