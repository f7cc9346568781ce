"""Sees the machine around the process: its size and limits, and what others take of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType

from unslow.record.groups import Groups, read
from unslow.record.probe import Probe
from unslow.record.recorder import clock


class Machine(Probe):
    name = "machine"

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        return {"tensorflow": self._on_tensorflow}

    def _on_tensorflow(self, module: ModuleType) -> None:
        meminfo, groups = _meminfo(), Groups()
        affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self.recorder.line(
            "machine", clock(), cores=os.cpu_count(), affinity=affinity, memory_bytes=meminfo.get("MemTotal", 0),
            swap_bytes=meminfo.get("SwapTotal", 0), limit_bytes=groups.limit, quota_cores=groups.quota,
            load=os.getloadavg()[0],
        )  # fmt: skip
        self.watcher.readers += [_available, groups.stalled, groups.used, _busy, _waited]


def _meminfo() -> dict[str, int]:
    rows = (line.split() for line in read("/proc/meminfo").splitlines())
    return {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows if len(row) > 1 and row[1].isdigit()}


def _available() -> dict[str, float]:
    meminfo = _meminfo()
    used = meminfo.get("SwapTotal", 0) - meminfo.get("SwapFree", 0)
    return {"available": float(meminfo.get("MemAvailable", 0)), "swap_used": float(used)}


def _busy() -> dict[str, float]:
    """Processor seconds of the whole machine, and those that a hypervisor took away."""
    fields = [int(value) for value in read("/proc/stat").partition("\n")[0].split()[1:]]
    ticks = os.sysconf("SC_CLK_TCK")
    return {"machine_cpu": (sum(fields[:3]) + sum(fields[5:7])) / ticks, "steal": fields[7] / ticks}


def _waited() -> dict[str, float]:
    """Seconds for which the main thread could have run and no processor was free."""
    fields = read("/proc/self/schedstat").split()
    return {"waited": int(fields[1]) / 1e9, "ran": int(fields[0]) / 1e9}
