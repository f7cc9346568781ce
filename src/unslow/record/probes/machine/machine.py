"""Sees the machine around the process: its size and limits, and what others take of it."""

from __future__ import annotations

import os
from types import ModuleType

from unslow.facts.machine import Machine as MachineSize
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.procfs import read
from unslow.record.probes.machine.control_groups import Groups

_MEMORY = "/proc/meminfo"
_NUMBER = 32  # characters that hold any of its numbers


class Machine(Probe):
    name = "machine"

    def doors(self) -> Doors:
        return {"tensorflow": self._on_tensorflow}

    def _on_tensorflow(self, module: ModuleType) -> None:
        text, groups = read(_MEMORY), Groups()
        self.recorder.emit(
            MachineSize(
                cores=os.cpu_count() or 0,
                affinity=usable_cores(),
                memory_bytes=_bytes(text, "MemTotal"),
                swap_bytes=_bytes(text, "SwapTotal"),
                limit_bytes=groups.limit,
                quota_cores=groups.quota,
                load=os.getloadavg()[0],
            )
        )
        self.watcher.add_counters(_available, groups.stalled, groups.used, _busy, _waited)


def usable_cores() -> int:
    """Cores that the process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _bytes(text: str, name: str) -> int:
    """What /proc/meminfo says of one thing."""
    rest = text.partition(f"{name}:")[2][:_NUMBER].split()
    return int(rest[0]) * 1024 if rest else 0


def _available() -> dict[str, float]:
    text = read(_MEMORY)
    used = _bytes(text, "SwapTotal") - _bytes(text, "SwapFree")
    return {"available": float(_bytes(text, "MemAvailable")), "swap_used": float(used)}


def _busy() -> dict[str, float]:
    """Processor seconds of the whole machine, and those that a hypervisor took away."""
    fields = [int(value) for value in read("/proc/stat").partition("\n")[0].split()[1:]]
    ticks = os.sysconf("SC_CLK_TCK")
    return {"machine_cpu": (sum(fields[:3]) + sum(fields[5:7])) / ticks, "steal": fields[7] / ticks}


def _waited() -> dict[str, float]:
    """Seconds for which the main thread could have run and no processor was free."""
    fields = read("/proc/self/schedstat").split()
    return {"waited": int(fields[1]) / 1e9, "ran": int(fields[0]) / 1e9}
