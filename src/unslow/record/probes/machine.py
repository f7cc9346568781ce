"""Sees the machine around the process: its size and limits, and what others take of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType

from unslow.record.probe import Probe
from unslow.record.recorder import clock

_CGROUP = "/sys/fs/cgroup"
_NO_LIMIT = 1 << 60  # version 1 writes a huge number where there is no limit


class Machine(Probe):
    name = "machine"

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        return {"tensorflow": self._on_tensorflow}

    def _on_tensorflow(self, module: ModuleType) -> None:
        meminfo = _meminfo()
        affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self.recorder.line(
            "machine", clock(), cores=os.cpu_count(), affinity=affinity, memory_bytes=meminfo.get("MemTotal", 0),
            swap_bytes=meminfo.get("SwapTotal", 0), limit_bytes=_limit(), quota_cores=_quota(), load=os.getloadavg()[0],
        )  # fmt: skip
        self.watcher.readers += [_available, _pressure, _group, _busy, _waited]


def _read(*paths: str) -> str:
    """The first of some files that is there."""
    for path in paths:
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                return file.read()
        except OSError:
            continue
    return ""


def _meminfo() -> dict[str, int]:
    rows = (line.split() for line in _read("/proc/meminfo").splitlines())
    return {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows if len(row) > 1 and row[1].isdigit()}


def _limit() -> int:
    """The memory limit of the container, version 2 or 1; 0 where there is none."""
    text = _read(f"{_CGROUP}/memory.max", f"{_CGROUP}/memory/memory.limit_in_bytes").strip()
    return int(text) if text.isdigit() and int(text) < _NO_LIMIT else 0


def _quota() -> float:
    """The processor quota of the container in cores; 0 where there is none."""
    fields = _read(f"{_CGROUP}/cpu.max").split()
    if len(fields) == 2 and fields[0].isdigit():
        return int(fields[0]) / int(fields[1])
    quota, period = _read(f"{_CGROUP}/cpu/cpu.cfs_quota_us").strip(), _read(f"{_CGROUP}/cpu/cpu.cfs_period_us").strip()
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else 0.0


def _available() -> dict[str, float]:
    meminfo = _meminfo()
    used = meminfo.get("SwapTotal", 0) - meminfo.get("SwapFree", 0)
    return {"available": float(meminfo.get("MemAvailable", 0)), "swap_used": float(used)}


def _pressure() -> dict[str, float]:
    """Seconds for which some task waited for memory, since the machine started (Linux 4.20 and later)."""
    line = _read("/proc/pressure/memory").partition("\n")[0]
    total = line.rpartition("total=")[2]
    return {"memory_stall": int(total) / 1e6} if total.isdigit() else {}


def _group() -> dict[str, float]:
    current = _read(f"{_CGROUP}/memory.current", f"{_CGROUP}/memory/memory.usage_in_bytes").strip()
    found = {"group_bytes": float(current)} if current.isdigit() else {}
    for row in _read(f"{_CGROUP}/cpu.stat", f"{_CGROUP}/cpu/cpu.stat").splitlines():
        key, _, value = row.partition(" ")
        if key in ("throttled_usec", "throttled_time") and value.isdigit():
            found["throttled"] = int(value) / (1e6 if key == "throttled_usec" else 1e9)
    return found


def _busy() -> dict[str, float]:
    """Processor seconds of the whole machine, and those that a hypervisor took away."""
    fields = [int(value) for value in _read("/proc/stat").partition("\n")[0].split()[1:]]
    ticks = os.sysconf("SC_CLK_TCK")
    return {"machine_cpu": (sum(fields[:3]) + sum(fields[5:7])) / ticks, "steal": fields[7] / ticks}


def _waited() -> dict[str, float]:
    """Seconds for which the main thread could have run and no processor was free."""
    fields = _read("/proc/self/schedstat").split()
    return {"waited": int(fields[1]) / 1e9, "ran": int(fields[0]) / 1e9}
